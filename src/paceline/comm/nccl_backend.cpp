#include "paceline/comm/nccl_backend.h"

#include "paceline/base/error.h"
#include "paceline/comm/cuda/plugin_abi.h"
#include "paceline/comm/cuda_plugin.h"

#include <array>

#include <dlfcn.h>

namespace paceline::comm {

c10::intrusive_ptr<c10d::Backend> make_nccl_backend(const c10::intrusive_ptr<c10d::Store>& store,
                                                    int rank, int world_size, int device,
                                                    std::chrono::milliseconds timeout) {
  const CudaPlugin plugin = load_cuda_plugin();
  if (plugin.handle == nullptr) {
    throw base::ConfigError("device cuda is not available: " + plugin.reason);
  }
  auto* make = reinterpret_cast<PacelineMakeNcclBackend*>(  // NOLINT: dlsym's own way
      dlsym(plugin.handle, kPacelineMakeNcclBackendName));
  if (make == nullptr) {
    throw base::ConfigError("libpaceline_cuda.so is of another version: build it anew");
  }
  std::array<char, 1024> error{};
  c10d::Backend* backend =
      make(store.get(), rank, world_size, device, timeout.count(), error.data(), error.size());
  if (backend == nullptr) {
    throw base::CommError(
        fmt::format("rank {} cannot set up NCCL on GPU {}: {}", rank, device, error.data()));
  }
  return c10::intrusive_ptr<c10d::Backend>::reclaim(backend);
}

}  // namespace paceline::comm
