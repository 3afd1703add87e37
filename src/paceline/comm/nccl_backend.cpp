#include "paceline/comm/nccl_backend.h"

#include "paceline/base/error.h"
#include "paceline/comm/cuda/plugin_abi.h"
#include "paceline/tensor/cuda_plugin.h"

#include <array>

namespace paceline::comm {

c10::intrusive_ptr<c10d::Backend> make_nccl_backend(const c10::intrusive_ptr<c10d::Store>& store,
                                                    int rank, std::span<const int> members,
                                                    int device, std::chrono::milliseconds timeout) {
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
