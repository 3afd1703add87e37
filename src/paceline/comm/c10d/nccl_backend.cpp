#include "paceline/comm/c10d/nccl_backend.h"

#include "paceline/base/error.h"
#include "paceline/comm/c10d/cuda_plugin_abi.h"
#include "paceline/comm/library_variable.h"
#include "paceline/tensor/cuda_plugin.h"

#include <array>

#include <c10/util/env.h>

namespace paceline::comm {

void set_nccl_environment(const std::string& interface) {
  // torchrun sets it to 1, which ends the process. 2: the watchdog ends the group's collectives,
  // and GpuBackends::failure() tells of it.
  set_library_variable("TORCH_NCCL_ASYNC_ERROR_HANDLING", "2");
  // An error of the GPU is thrown on the thread that uses it. A second one, on the watchdog's,
  // would end the process.
  set_library_variable("TORCH_NCCL_RETHROW_CUDA_ERRORS", "0");
  set_library_variable("TORCH_NCCL_ENABLE_MONITORING", "0");
  // Every rank would ask the store every second whether another one writes its record of
  // collectives, and the watchdog would sleep a minute for that before it ends anything.
  set_library_variable("TORCH_NCCL_DUMP_ON_TIMEOUT", "0");
  set_library_variable("TORCH_NCCL_WAIT_TIMEOUT_DUMP_MILSEC", "0");
  if (!interface.empty() && !c10::utils::has_env("NCCL_SOCKET_IFNAME")) {
    set_library_variable("NCCL_SOCKET_IFNAME", "=" + interface);  // without = it would be a prefix
  }
}

c10::intrusive_ptr<c10d::Backend> make_nccl_backend(const c10::intrusive_ptr<c10d::Store>& store,
                                                    int rank, std::span<const int> members,
                                                    int device, std::chrono::milliseconds timeout,
                                                    const std::string& interface) {
  set_nccl_environment(interface);
  auto* make = reinterpret_cast<MakeNcclBackend*>(  // NOLINT: as dlsym is
      tensor::cuda_plugin_symbol(kMakeNcclBackendName));
  std::array<char, 1024> error{};
  c10d::Backend* backend =
      make({store.get(), rank, members, device, timeout.count()}, error.data(), error.size());
  if (backend == nullptr) {
    throw base::CommError(fmt::format("rank {} cannot set up NCCL on GPU {}: {}",
                                      members[static_cast<std::size_t>(rank)], device,
                                      error.data()));
  }
  return c10::intrusive_ptr<c10d::Backend>::reclaim(backend);
}

}  // namespace paceline::comm
