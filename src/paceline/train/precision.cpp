#include "paceline/train/precision.h"

#include "paceline/base/error.h"
#include "paceline/base/text.h"
#include "paceline/tensor/aten.h"

#include <algorithm>
#include <fstream>
#include <vector>

#include <ATen/detail/CUDAHooksInterface.h>

namespace paceline::train {
namespace {

/// The "flags" of the first processor in /proc/cpuinfo; empty where there are none.
std::vector<std::string> cpu_flags(const std::filesystem::path& root) {
  std::ifstream file(root / "proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    const std::size_t colon = line.find(':');
    if (line.starts_with("flags") && colon != std::string::npos)
      return base::split(line.substr(colon + 1), ' ');
  }
  return {};
}

}  // namespace

at::ScalarType storage_dtype(Precision precision) {
  return precision == Precision::kFloat64 ? at::kDouble : at::kFloat;
}

std::optional<at::ScalarType> autocast_dtype(Precision precision) {
  PACELINE_CHECK(precision != Precision::kAuto,
                 "precision auto must be resolved before it is used");
  if (precision == Precision::kBFloat16) return at::kBFloat16;
  if (precision == Precision::kFloat16) return at::kHalf;
  return std::nullopt;
}

PrecisionChoice choose_precision(Precision asked, at::DeviceType device) {
  if (asked != Precision::kAuto) return {asked, ""};
  if (device != at::kCUDA) return fastest_on_cpu();
  // LibTorch's name for compute capability 8 or newer, without CUDA's headers.
  return fastest_on_cuda(at::detail::getCUDAHooks().supportsBFloat16ConvolutionWithCuDNNv8());
}

PrecisionChoice fastest_on_cpu(const std::filesystem::path& root) {
  const std::vector<std::string> flags = cpu_flags(root);
  const auto has = [&flags](std::string_view flag) {
    return std::find(flags.begin(), flags.end(), flag) != flags.end();
  };
  if (has("amx_bf16")) return {Precision::kBFloat16, "the CPU has AMX"};
  if (has("avx512_bf16")) return {Precision::kBFloat16, "the CPU has AVX512_BF16"};
  return {Precision::kFloat32, "the CPU has neither AMX nor AVX512_BF16"};
}

PrecisionChoice fastest_on_cuda(bool has_bfloat16) {
  if (has_bfloat16) return {Precision::kBFloat16, "the GPU has compute capability 8 or newer"};
  return {Precision::kFloat16, "the GPU's compute capability is below 8"};
}

}  // namespace paceline::train
