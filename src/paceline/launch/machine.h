#pragma once

#include "paceline/launch/environment.h"

#include <filesystem>
#include <string>
#include <string_view>

namespace paceline::launch {

/// What this machine offers to a run.
struct Machine {
  int cores = 1;  ///< CPUs in the affinity mask, cut to the cgroup's quota; at least 1
  int gpus = 0;   ///< GPUs that a rank would see
  std::string host_name = "localhost";
};

Machine this_machine(const Environment& environment);

/// CPUs this process may use: its affinity mask, cut to the tightest quota of its cgroups (version
/// 1 or 2) and rounded down; at least 1. `root` stands before /proc and /sys.
int available_cores(const std::filesystem::path& root = "/");

/// GPUs without asking CUDA: what CUDA_VISIBLE_DEVICES leaves of /dev/nvidia0, 1, ... As in CUDA,
/// the list ends at its first invalid entry. `root` stands before /dev.
int visible_gpus(const Environment& environment, const std::filesystem::path& root = "/");

/// Lets this process open as many files and connections as the system allows it: the usual 1024 are
/// few for a rank of many, or among strangers.
void raise_descriptor_limit();

/// A bound TCP port that no other process is given while this object lives, but that a server with
/// SO_REUSEADDR (such as TCPStore) can listen on: on Linux two such sockets may share a port as
/// long as only one listens. So there is no moment at which another run could take the port.
class ReservedPort {
 public:
  /// Reserves a free port of the loopback interface. Throws CommError if there is none.
  ReservedPort();
  ~ReservedPort();
  ReservedPort(const ReservedPort&) = delete;
  ReservedPort& operator=(const ReservedPort&) = delete;

  int number() const { return number_; }

 private:
  int socket_;
  int number_ = 0;
};

/// Throws CommError, with the cure, if a server listens on this port of this machine. `origin` says
/// where the port was given.
void require_free_port(int port, std::string_view origin);

}  // namespace paceline::launch
