#include "gpu/count_waits.h"

#include "gpu/test_devices.h"
#include "support/queued_device.h"

#include <atomic>

#include <dlfcn.h>

namespace {

std::atomic<int> num_waits{0};  // NOLINT: written where CUDA's callers call

/// A function of CUDA's runtime, which is loaded with the plug-in.
template <typename... Arguments>
int call_cuda(const char* name, Arguments... arguments) {
  constexpr int kUnknownError = 999;
  auto* function = reinterpret_cast<int (*)(Arguments...)>(dlsym(RTLD_NEXT, name));  // NOLINT
  return function == nullptr ? kUnknownError : function(arguments...);
}

}  // namespace

// What waits in CUDA's runtime. The loader asks the program first, so LibTorch and the plug-in call
// these, and they the runtime's. So all of LibTorch's waits are seen: it warns of some by itself,
// of none for events or for the whole GPU.
extern "C" {

int cudaStreamSynchronize(void* stream) {
  ++num_waits;
  return call_cuda("cudaStreamSynchronize", stream);
}

int cudaDeviceSynchronize() {
  ++num_waits;
  return call_cuda("cudaDeviceSynchronize");
}

int cudaEventSynchronize(void* event) {
  if (call_cuda("cudaEventQuery", event) != 0) ++num_waits;
  return call_cuda("cudaEventSynchronize", event);
}

}  // extern "C"

namespace paceline::test {

int count_waits(tensor::Device& device, const std::function<void()>& work) {
  const auto so_far = [&device] {
    if (!uses_stand_in()) return num_waits.load();
    const auto counts = dynamic_cast<QueuedDevice&>(device).gpu().counts();
    return counts.waits + counts.pageable_copies;
  };
  const int before = so_far();
  work();
  return so_far() - before;
}

}  // namespace paceline::test
