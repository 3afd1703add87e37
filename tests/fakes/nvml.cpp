// A driver's management library with two GPUs: GPU-new tells everything, GPU-old no power and no
// clocks. $FAKE_NVML_ERROR makes nvmlInit_v2 fail with that number.

#include <cstdlib>
#include <cstring>

namespace {

constexpr int kSuccess = 0;
constexpr int kNotSupported = 3;
constexpr int kNotFound = 6;

int new_gpu = 0;
int old_gpu = 0;

struct Utilization {
  unsigned gpu;
  unsigned memory;
};
struct Memory {
  unsigned long long total;
  unsigned long long free;
  unsigned long long used;
};

}  // namespace

extern "C" {

int nvmlInit_v2() {
  const char* error = std::getenv("FAKE_NVML_ERROR");
  return error == nullptr ? kSuccess : std::atoi(error);
}

int nvmlShutdown() { return kSuccess; }

const char* nvmlErrorString(int error) { return error == 9 ? "Driver Not Loaded" : "unknown"; }

int nvmlDeviceGetHandleByUUID(const char* uuid, void** device) {
  const bool is_new = std::strcmp(uuid, "GPU-new") == 0;
  if (!is_new && std::strcmp(uuid, "GPU-old") != 0) return kNotFound;
  *device = is_new ? &new_gpu : &old_gpu;
  return kSuccess;
}

int nvmlDeviceGetUtilizationRates(void* /*device*/, Utilization* rates) {
  *rates = {97, 40};
  return kSuccess;
}

int nvmlDeviceGetMemoryInfo(void* /*device*/, Memory* memory) {
  *memory = {80ull << 30, 50ull << 30, 30ull << 30};
  return kSuccess;
}

int nvmlDeviceGetPowerUsage(void* device, unsigned* milliwatts) {
  *milliwatts = 654321;
  return device == &new_gpu ? kSuccess : kNotSupported;
}

int nvmlDeviceGetClockInfo(void* device, int type, unsigned* mhz) {
  *mhz = type == 1 ? 1980 : type == 2 ? 3201 : 0;
  return device == &new_gpu ? kSuccess : kNotSupported;
}

int nvmlDeviceGetTemperature(void* /*device*/, int sensor, unsigned* celsius) {
  *celsius = 61;
  return sensor == 0 ? kSuccess : kNotSupported;
}

int nvmlDeviceGetCurrentClocksThrottleReasons(void* device, unsigned long long* reasons) {
  *reasons = device == &new_gpu ? 0x4 | 0x40 : 0;
  return kSuccess;
}
}
