#pragma once

#include "paceline/launch/environment.h"
#include "paceline/launch/machine.h"
#include "paceline/launch/options.h"
#include "paceline/launch/rank_info.h"

#include <optional>
#include <string>
#include <vector>

namespace paceline::launch {

/// Which ranks this launcher starts, and what they need to find each other.
struct LaunchPlan {
  int nproc = 1;  ///< ranks on this machine, the same on every one
  int num_nodes = 1;
  int node_rank = 0;
  std::string master_addr = "127.0.0.1";
  std::optional<int> master_port;  ///< nothing: any free one
  std::string port_origin;         ///< the option or variable that gave the port
  std::string run_id;              ///< of the store's keys and values
  std::string rdzv_id = "none";    ///< what torchrun calls the run
  int threads_per_rank = 1;
  double grace_seconds = kDefaultGraceSeconds;  ///< to stop in after a signal
  double rdzv_timeout_seconds = kDefaultRdzvTimeoutSeconds;
  std::vector<std::string> notes;  ///< decisions that the user should see

  int world_size() const { return num_nodes * nproc; }
  int first_rank() const { return node_rank * nproc; }
};

/// Decides from the options and the bare environment (MASTER_ADDR, MASTER_PORT, NODE_RANK,
/// WORLD_SIZE without RANK, as Lightning's users set it). Throws ConfigError, with the arithmetic,
/// if they contradict each other or leave more than one reading.
LaunchPlan plan_launch(const LaunchOptions& options, const Environment& environment,
                       const Machine& machine);

/// Whether an outer launcher (torchrun, srun, mpirun) started this process as one rank, so that it
/// must start no others. Explicit --nproc and --nnodes make it a launcher again if the outer one
/// started one process per machine; anything else is a ConfigError.
bool is_one_rank(const LaunchOptions& options, const Environment& environment);

/// What every rank wants of its libraries, unless the user has set it; also of one that another
/// launcher has started.
void set_library_defaults(Environment& environment);

/// The environment of one rank of this machine: `environment` with torchrun's variables,
/// PACELINE_RUN_ID, and thread settings unless the user has set them. The rank is asked to leave
/// its last words in its error_file() of `error_dir`, if there is one.
Environment rank_environment(const LaunchPlan& plan, int local_rank, int master_port,
                             const std::optional<std::filesystem::path>& error_dir,
                             Environment environment);

/// "rank_0001": the stem of a rank's log files.
std::string rank_file_stem(int rank);
std::filesystem::path error_file(const std::filesystem::path& error_dir, int rank);

}  // namespace paceline::launch
