#pragma once

#include "paceline/config/type_info.h"

#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace c10 {
enum class DeviceType : std::int8_t;
enum class ScalarType : std::int8_t;
}  // namespace c10

namespace paceline::train {

/// What a run computes in. Under kBFloat16 and kFloat16 autocast chooses the type of each operation
/// of forward and loss; weights, their gradients and the optimizer's state stay float32.
enum class Precision { kFloat32, kFloat64, kBFloat16, kFloat16, kAuto };

/// Of weights, inputs, gradients and optimizer state.
c10::ScalarType storage_dtype(Precision precision);

/// For tensor::AutocastGuard; none for fp32 and fp64. Throws InternalError for kAuto, which must be
/// resolved before.
std::optional<c10::ScalarType> autocast_dtype(Precision precision);

struct PrecisionChoice {
  Precision precision = Precision::kFloat32;
  std::string reason;  ///< for people; empty if there was nothing to choose
};

/// Resolves kAuto to what the device is fast at; any other precision stays. On CUDA bf16 from
/// compute capability 8 on, else fp16; on the CPU bf16 with AMX or AVX512_BF16, else fp32, because
/// its fp16 is no faster.
PrecisionChoice choose_precision(Precision asked, c10::DeviceType device);

/// The same for kAuto on this CPU; `root` stands before /proc.
PrecisionChoice fastest_on_cpu(const std::filesystem::path& root = "/");
/// The same for kAuto on a GPU with or without bfloat16 units.
PrecisionChoice fastest_on_cuda(bool has_bfloat16);

}  // namespace paceline::train

template <>
struct paceline::config::EnumNames<paceline::train::Precision> {
  using Precision = paceline::train::Precision;
  static constexpr std::array names{
      EnumName{Precision::kFloat32, "fp32"}, EnumName{Precision::kFloat64, "fp64"},
      EnumName{Precision::kBFloat16, "bf16"}, EnumName{Precision::kFloat16, "fp16"},
      EnumName{Precision::kAuto, "auto"}};
};
