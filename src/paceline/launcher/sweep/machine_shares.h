#pragma once

#include "paceline/launch/environment.h"

#include <string>
#include <vector>

namespace paceline::launcher {

/// What one of the trials that run side by side may use of a machine.
struct MachineShare {
  std::vector<int> cores = {};         ///< CPUs; empty: all, as they cannot be told apart
  std::vector<std::string> gpus = {};  ///< entries of CUDA_VISIBLE_DEVICES; empty: there is no GPU
  int threads = 0;                     ///< of all its ranks together
};

/// What a machine has.
struct MachineParts {
  std::vector<int> cores = {};  ///< of the affinity mask; empty if a cgroup's quota is tighter
  int num_cores = 1;            ///< that may be busy at a time
  std::vector<std::string> gpus = {};  ///< as CUDA_VISIBLE_DEVICES names them
};

MachineParts parts_of_this_machine(const launch::Environment& environment);

/// Neighbours stay together, and no share has more than one core or GPU more than another; of fewer
/// than jobs each share has one, which it may have in common with others.
std::vector<MachineShare> share_machine(const MachineParts& machine, int num_jobs);

/// What a trial of this share is started with. One job has all of the machine, and its environment
/// is left as it is. `num_ranks` 0: one for each GPU.
launch::Environment environment_of(const MachineShare& share, int num_jobs, int num_ranks,
                                   launch::Environment environment);

}  // namespace paceline::launcher
