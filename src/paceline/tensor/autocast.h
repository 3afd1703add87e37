#pragma once

#include <cstdint>
#include <optional>

namespace c10 {
enum class DeviceType : std::int8_t;
enum class ScalarType : std::int8_t;
}  // namespace c10

namespace paceline::tensor {

/// PyTorch's autocast for a scope: matrix products and convolutions on `device` compute in `dtype`
/// (bfloat16 or float16), what needs the range computes in float32, by PyTorch's own list. Weights
/// stay as they are; each is cast once and the cast kept until the outermost guard ends. It acts on
/// this thread, and backward repeats the types of forward without it.
///
/// The end restores what was before, also after an exception, so guards nest.
class AutocastGuard {
 public:
  /// Without a dtype the guard does nothing.
  AutocastGuard(c10::DeviceType device, std::optional<c10::ScalarType> dtype);
  ~AutocastGuard();
  AutocastGuard(const AutocastGuard&) = delete;
  AutocastGuard& operator=(const AutocastGuard&) = delete;

 private:
  struct Before {
    c10::DeviceType device;
    bool is_enabled;
    c10::ScalarType dtype;
  };
  std::optional<Before> before_;
};

}  // namespace paceline::tensor
