#pragma once

#include <cstdint>
#include <optional>

namespace c10 {
enum class DeviceType : std::int8_t;
enum class ScalarType : std::int8_t;
}  // namespace c10

namespace paceline::tensor {

/// This thread's autocast settings for a device type.
struct AutocastSettings {
  c10::DeviceType device;
  bool is_enabled;
  c10::ScalarType dtype;

  /// Those of the calling thread now.
  static AutocastSettings current(c10::DeviceType device);

  /// What a matrix product gets in place of a tensor of this type: double and what is no floating
  /// type stay as they are.
  c10::ScalarType cast_of(c10::ScalarType given) const;
};

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
  /// As it was elsewhere, on or off.
  explicit AutocastGuard(const AutocastSettings& settings);
  ~AutocastGuard();
  AutocastGuard(const AutocastGuard&) = delete;
  AutocastGuard& operator=(const AutocastGuard&) = delete;

 private:
  void enter(const AutocastSettings& settings);

  std::optional<AutocastSettings> before_;
};

/// Within it autocast keeps no casts of weights: for weights whose memory comes and goes, and for
/// what is computed twice.
class WithoutAutocastCache {
 public:
  WithoutAutocastCache();
  ~WithoutAutocastCache();
  WithoutAutocastCache(const WithoutAutocastCache&) = delete;
  WithoutAutocastCache& operator=(const WithoutAutocastCache&) = delete;

 private:
  bool was_enabled_;
};

}  // namespace paceline::tensor
