#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace paceline::metrics {

/// What the driver says of a GPU now; what it does not say is left out.
struct GpuReading {
  std::optional<double> utilization;  ///< share of the last moments in which a kernel ran
  std::optional<std::uint64_t> memory_used_bytes;
  std::optional<std::uint64_t> memory_total_bytes;
  std::optional<double> power_w;
  std::optional<int> sm_clock_mhz;
  std::optional<int> memory_clock_mhz;
  std::optional<int> temperature_c;
  std::vector<std::string> throttle_reasons;  ///< what holds the clocks down: "sw_power_cap"
};

/// NVIDIA's management library, which comes with the driver and is loaded when it is there. For one
/// thread at a time.
class Nvml {
 public:
  /// The library, or why there is none. `file` is a name for dlopen.
  struct Opened {
    std::unique_ptr<Nvml> nvml;
    std::string reason;
  };
  static Opened open(const std::string& file = "libnvidia-ml.so.1");

  ~Nvml();
  Nvml(const Nvml&) = delete;
  Nvml& operator=(const Nvml&) = delete;

  /// Of the GPU with this uuid ("GPU-..."). nullopt when there is none.
  std::optional<GpuReading> read(const std::string& uuid) const;

 private:
  struct Functions;
  Nvml(void* library, std::unique_ptr<Functions> functions);

  void* library_;
  std::unique_ptr<Functions> functions_;
};

}  // namespace paceline::metrics
