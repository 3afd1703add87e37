#include "paceline/comm/gloo/gloo_backend.h"

#include "paceline/comm/gloo/listeners.h"
#include "paceline/comm/library_variable.h"

#include <algorithm>
#include <iterator>
#include <memory>
#include <mutex>
#include <set>
#include <vector>

// LibTorch's wheel holds Gloo but not its headers. ProcessGroupGloo.hpp finds our declarations
// under shim/ instead; this is the only source that may see them.
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>

namespace paceline::comm {
namespace {

struct Device {
  std::shared_ptr<gloo::transport::Device> device;
  std::vector<int> listeners;  ///< that it accepts connections on
};

/// Gloo reads it when it connects. Each rank reads the addresses of all others: 128 of them in one
/// operation of the store instead of two operations for each, and each without a number for every
/// pair of ranks, which would be gigabytes where a thousand meet.
void set_gloo_environment() {
  set_library_variable("GLOO_ENABLE_STORE_V2_API", "1");
  set_library_variable("GLOO_ENABLE_RANK_AS_SEQUENCE_NUMBER", "1");
}

Device make_device(const std::string& address) {
  static std::mutex one_at_a_time;  // ranks may be threads, and a device does not tell its socket
  const std::lock_guard lock(one_at_a_time);
  set_gloo_environment();
  const std::set<int> before = listening_sockets();
  Device made{c10d::ProcessGroupGloo::createDeviceForHostname(address), {}};
  std::ranges::set_difference(listening_sockets(), before, std::back_inserter(made.listeners));
  return made;
}

}  // namespace

c10::intrusive_ptr<c10d::Backend> make_gloo_backend(const c10::intrusive_ptr<c10d::Store>& store,
                                                    int rank, int world_size,
                                                    const std::string& address,
                                                    std::chrono::milliseconds timeout) {
  auto options = c10d::ProcessGroupGloo::Options::create(timeout);
  const Device device = make_device(address);
  options->devices.push_back(device.device);
  options->threads = 2;  // collectives in flight at a time, as torch.distributed has it
  auto backend = c10::make_intrusive<c10d::ProcessGroupGloo>(store, rank, world_size, options);
  // All peers are connected. Whoever came later would cost a descriptor for the rest of the run.
  for (const int listener : device.listeners) stop_listening(listener);
  return backend;
}

}  // namespace paceline::comm
