#include "paceline/metrics/nvml.h"

#include <utility>

#include <dlfcn.h>
#include <fmt/format.h>

namespace paceline::metrics {
namespace {

// The few declarations of nvml.h that are needed: stable names and layouts of the driver's library.
constexpr int kSuccess = 0;
constexpr int kTemperatureOfGpu = 0;
constexpr int kClockOfSms = 1;
constexpr int kClockOfMemory = 2;

constexpr std::pair<unsigned long long, const char*> kThrottleReasons[] = {
    {0x1, "gpu_idle"},
    {0x2, "applications_clocks_setting"},
    {0x4, "sw_power_cap"},
    {0x8, "hw_slowdown"},
    {0x10, "sync_boost"},
    {0x20, "sw_thermal_slowdown"},
    {0x40, "hw_thermal_slowdown"},
    {0x80, "hw_power_brake_slowdown"},
    {0x100, "display_clock_setting"},
};

}  // namespace

struct Nvml::Functions {
  using Device = void*;
  struct Utilization {
    unsigned gpu;  // percent
    unsigned memory;
  };
  struct Memory {
    unsigned long long total;
    unsigned long long free;
    unsigned long long used;
  };

  int (*init)() = nullptr;
  int (*shutdown)() = nullptr;
  const char* (*error_text)(int) = nullptr;
  int (*device_by_uuid)(const char*, Device*) = nullptr;
  int (*utilization)(Device, Utilization*) = nullptr;
  int (*memory)(Device, Memory*) = nullptr;
  int (*power_mw)(Device, unsigned*) = nullptr;
  int (*clock)(Device, int, unsigned*) = nullptr;
  int (*temperature)(Device, int, unsigned*) = nullptr;
  int (*throttle_reasons)(Device, unsigned long long*) = nullptr;

  /// Returns the name of a function that the library lacks, or nullptr.
  const char* load(void* library) {
    const char* missing = nullptr;
    const auto find = [&](auto& function, const char* name) {
      using Function = std::remove_reference_t<decltype(function)>;
      function = reinterpret_cast<Function>(dlsym(library, name));  // NOLINT: as dlsym is
      if (function == nullptr) missing = name;
    };
    find(init, "nvmlInit_v2");
    find(shutdown, "nvmlShutdown");
    find(error_text, "nvmlErrorString");
    find(device_by_uuid, "nvmlDeviceGetHandleByUUID");
    find(utilization, "nvmlDeviceGetUtilizationRates");
    find(memory, "nvmlDeviceGetMemoryInfo");
    find(power_mw, "nvmlDeviceGetPowerUsage");
    find(clock, "nvmlDeviceGetClockInfo");
    find(temperature, "nvmlDeviceGetTemperature");
    find(throttle_reasons, "nvmlDeviceGetCurrentClocksThrottleReasons");
    return missing;
  }
};

Nvml::Opened Nvml::open(const std::string& file) {
  void* library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return {nullptr, fmt::format("cannot load {}", file)};
  auto functions = std::make_unique<Functions>();
  std::string reason;
  if (const char* missing = functions->load(library)) {
    reason = fmt::format("{} has no {}", file, missing);
  } else if (const int error = functions->init(); error != kSuccess) {
    reason = fmt::format("{}: {}", file, functions->error_text(error));
  }
  if (!reason.empty()) {
    dlclose(library);
    return {nullptr, reason};
  }
  return {std::unique_ptr<Nvml>(new Nvml(library, std::move(functions))), {}};
}

Nvml::Nvml(void* library, std::unique_ptr<Functions> functions)
    : library_(library), functions_(std::move(functions)) {}

Nvml::~Nvml() {
  functions_->shutdown();
  dlclose(library_);
}

std::optional<GpuReading> Nvml::read(const std::string& uuid) const {
  const Functions& nvml = *functions_;
  Functions::Device device = nullptr;
  if (nvml.device_by_uuid(uuid.c_str(), &device) != kSuccess) return std::nullopt;
  GpuReading reading;
  if (Functions::Utilization rates{}; nvml.utilization(device, &rates) == kSuccess) {
    reading.utilization = rates.gpu / 100.0;
  }
  if (Functions::Memory memory{}; nvml.memory(device, &memory) == kSuccess) {
    reading.memory_used_bytes = memory.used;
    reading.memory_total_bytes = memory.total;
  }
  unsigned value = 0;
  if (nvml.power_mw(device, &value) == kSuccess) reading.power_w = value / 1000.0;
  const auto number = [&value] { return static_cast<int>(value); };
  if (nvml.clock(device, kClockOfSms, &value) == kSuccess) reading.sm_clock_mhz = number();
  if (nvml.clock(device, kClockOfMemory, &value) == kSuccess) reading.memory_clock_mhz = number();
  if (nvml.temperature(device, kTemperatureOfGpu, &value) == kSuccess) {
    reading.temperature_c = number();
  }
  if (unsigned long long bits = 0; nvml.throttle_reasons(device, &bits) == kSuccess) {
    for (const auto& [bit, name] : kThrottleReasons) {
      if ((bits & bit) != 0) reading.throttle_reasons.emplace_back(name);
    }
  }
  return reading;
}

}  // namespace paceline::metrics
