#include "paceline/comm/gloo/gloo_backend.h"

// LibTorch's wheel holds Gloo but not its headers. ProcessGroupGloo.hpp finds our declarations
// under shim/ instead; this is the only source that may see them.
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>

namespace paceline::comm {

c10::intrusive_ptr<c10d::Backend> make_gloo_backend(const c10::intrusive_ptr<c10d::Store>& store,
                                                    int rank, int world_size,
                                                    const std::string& address,
                                                    std::chrono::milliseconds timeout) {
  auto options = c10d::ProcessGroupGloo::Options::create(timeout);
  options->devices.push_back(c10d::ProcessGroupGloo::createDeviceForHostname(address));
  options->threads = 2;  // collectives in flight at a time, as torch.distributed has it
  return c10::make_intrusive<c10d::ProcessGroupGloo>(store, rank, world_size, options);
}

}  // namespace paceline::comm
