#include "paceline/launch/rank_info.h"

#include "paceline/base/error.h"
#include "paceline/base/hash.h"
#include "paceline/launch/secret.h"

#include <array>
#include <cstdint>
#include <cstdlib>
#include <optional>

#include <sys/random.h>

namespace paceline::launch {
namespace {

constexpr int kFirstDerivedPort = 15000;
constexpr std::uint64_t kDerivedPorts = 10000;
/// SLURM's step numbers from here on mean "batch script", "interactive shell" and so on: no srun.
constexpr std::uint64_t kFirstSpecialSlurmStep = 0xFFFFFFF0u;

int require_int(const Environment& environment, std::string_view name, int low,
                std::string_view peer) {
  if (const auto value = environment.get_int(name, low, kMaxRanks)) return *value;
  throw base::ConfigError(fmt::format(
      "the environment has {} but not {}; a launcher sets both. Set it too, or unset {}", peer,
      name, peer));
}

/// A port that all ranks of a job derive alike.
int derived_port(std::string_view job) {
  return kFirstDerivedPort + static_cast<int>(base::xxh3(job) % kDerivedPorts);
}

void check(const RankInfo& info) {
  if (info.rank >= info.world_size)
    throw base::ConfigError(
        fmt::format("{} says rank {} of {}: ranks count from 0, so the last one is {}",
                    name_of(info.launched_by), info.rank, info.world_size, info.world_size - 1));
  if (info.local_rank >= info.local_world_size)
    throw base::ConfigError(fmt::format("{} says local rank {} of {} ranks on this machine",
                                        name_of(info.launched_by), info.local_rank,
                                        info.local_world_size));
  if (info.local_world_size > info.world_size)
    throw base::ConfigError(fmt::format("{} says {} ranks on this machine, but only {} in all",
                                        name_of(info.launched_by), info.local_world_size,
                                        info.world_size));
}

/// Fills in the meeting point. `fallback_address` is used if MASTER_ADDR is unset; a run on one
/// machine can always use the loopback interface.
void read_meeting_point(const Environment& environment, std::string fallback_address,
                        int fallback_port, RankInfo& info) {
  if (info.world_size == info.local_world_size) fallback_address = "127.0.0.1";
  info.master_addr = environment.get_or("MASTER_ADDR", fallback_address);
  info.master_port = environment.get_int("MASTER_PORT", 0, 65535).value_or(fallback_port);
  if (info.master_addr.empty())
    throw base::ConfigError(fmt::format(
        "{} started rank {} of {} on several machines, but MASTER_ADDR is not set: set it "
        "to an address of rank 0's machine",
        name_of(info.launched_by), info.rank, info.world_size));
}

RankInfo read_rank_variables(const Environment& environment) {
  RankInfo info;
  const auto elastic_id = environment.get("TORCHELASTIC_RUN_ID");
  const auto paceline_id = environment.get("PACELINE_RUN_ID");
  info.launched_by = paceline_id  ? LaunchedBy::kPaceline
                     : elastic_id ? LaunchedBy::kTorchrun
                                  : LaunchedBy::kRankVariables;
  info.rank = require_int(environment, "RANK", 0, "WORLD_SIZE");
  info.world_size = require_int(environment, "WORLD_SIZE", 1, "RANK");
  info.local_rank = environment.get_int("LOCAL_RANK", 0, kMaxRanks).value_or(0);
  info.local_world_size =
      environment.get_int("LOCAL_WORLD_SIZE", 1, kMaxRanks).value_or(info.local_rank + 1);
  info.num_nodes = environment.get_int("GROUP_WORLD_SIZE", 1, kMaxRanks)
                       .value_or(info.world_size / info.local_world_size);
  info.node_rank =
      environment.get_int("GROUP_RANK", 0, kMaxRanks).value_or(info.rank / info.local_world_size);
  check(info);
  read_meeting_point(environment, "", info.world_size == 1 ? 0 : kDefaultMasterPort, info);
  const std::string attempt = environment.get_or("TORCHELASTIC_RESTART_COUNT", "0");
  info.run_id = paceline_id.value_or(elastic_id.value_or("none"));
  if (attempt != "0") info.run_id += "/" + attempt;
  const std::string served = environment.get_or("TORCHELASTIC_USE_AGENT_STORE", "False");
  info.store_is_served = served == "True" || served == "1";
  return info;
}

/// `prefix` is OMPI_COMM_WORLD_ or PMI_; the two local names differ more.
RankInfo read_mpi(const Environment& environment, LaunchedBy launched_by, const std::string& prefix,
                  std::string_view local_rank, std::string_view local_size) {
  RankInfo info;
  info.launched_by = launched_by;
  info.rank = require_int(environment, prefix + "RANK", 0, prefix + "SIZE");
  info.world_size = require_int(environment, prefix + "SIZE", 1, prefix + "RANK");
  info.local_rank = environment.get_int(local_rank, 0, kMaxRanks).value_or(0);
  info.local_world_size =
      environment.get_int(local_size, 1, kMaxRanks).value_or(info.local_rank + 1);
  info.num_nodes = environment.get_int("OMPI_MCA_num_nodes", 1, kMaxRanks)
                       .value_or(info.world_size / info.local_world_size);
  info.node_rank = info.rank / info.local_world_size;
  check(info);
  const std::string job =
      environment.get_or("PMIX_NAMESPACE", environment.get_or("OMPI_MCA_ess_base_jobid", ""));
  read_meeting_point(environment, "", job.empty() ? kDefaultMasterPort : derived_port(job), info);
  info.run_id = environment.get_or("PACELINE_RUN_ID", job.empty() ? "mpi" : "mpi-" + job);
  return info;
}

bool is_slurm_step(const Environment& environment) {
  if (!environment.has("SLURM_PROCID") || !environment.has("SLURM_NTASKS") ||
      !environment.has("SLURM_LOCALID"))
    return false;
  // A batch script and an interactive shell have these variables as well, but srun did not start
  // it.
  const auto step = environment.get("SLURM_STEP_ID");
  return step && std::strtoull(step->c_str(), nullptr, 10) < kFirstSpecialSlurmStep;
}

/// SLURM_STEP_TASKS_PER_NODE is "2(x3),1": how many tasks the node with this number has.
int slurm_tasks_on_node(std::string_view tasks, int node) {
  const char* next = tasks.data();
  const char* const end = tasks.data() + tasks.size();
  while (next < end) {
    char* rest = nullptr;
    const int count = static_cast<int>(std::strtol(next, &rest, 10));
    if (rest == next) return 1;
    long repeats = 1;
    if (end - rest > 2 && rest[0] == '(' && rest[1] == 'x') {
      repeats = std::strtol(rest + 2, &rest, 10);
      ++rest;  // ')'
    }
    if (node < repeats) return count;
    node -= static_cast<int>(repeats);
    next = rest + 1;  // ','
  }
  return 1;
}

RankInfo read_slurm(const Environment& environment) {
  RankInfo info;
  info.launched_by = LaunchedBy::kSlurm;
  info.rank = require_int(environment, "SLURM_PROCID", 0, "SLURM_NTASKS");
  info.world_size = environment.get_int("SLURM_STEP_NUM_TASKS", 1, kMaxRanks)
                        .value_or(require_int(environment, "SLURM_NTASKS", 1, "SLURM_PROCID"));
  info.local_rank = require_int(environment, "SLURM_LOCALID", 0, "SLURM_PROCID");
  info.node_rank = environment.get_int("SLURM_NODEID", 0, kMaxRanks).value_or(0);
  info.num_nodes = environment.get_int("SLURM_STEP_NUM_NODES", 1, kMaxRanks)
                       .value_or(environment.get_int("SLURM_NNODES", 1, kMaxRanks).value_or(1));
  const std::string tasks = environment.get_or("SLURM_STEP_TASKS_PER_NODE",
                                               environment.get_or("SLURM_TASKS_PER_NODE", ""));
  info.local_world_size =
      tasks.empty() ? info.world_size / info.num_nodes : slurm_tasks_on_node(tasks, info.node_rank);
  check(info);
  const std::string job = fmt::format("{}.{}.{}", environment.get_or("SLURM_JOB_ID", "0"),
                                      environment.get_or("SLURM_STEP_ID", "0"),
                                      environment.get_or("SLURM_RESTART_COUNT", "0"));
  const std::string nodes =
      environment.get_or("SLURM_STEP_NODELIST", environment.get_or("SLURM_JOB_NODELIST", ""));
  read_meeting_point(environment, first_slurm_host(nodes), derived_port(job), info);
  info.run_id = environment.get_or("PACELINE_RUN_ID", "slurm-" + job);
  return info;
}

/// Of any launcher; without what every launcher has in common.
RankInfo read_place(const Environment& environment) {
  if (environment.has("RANK")) return read_rank_variables(environment);
  // mpirun inside a SLURM job starts its daemons with srun, so the ranks see both sets of
  // variables.
  if (environment.has("OMPI_COMM_WORLD_RANK"))
    return read_mpi(environment, LaunchedBy::kOpenMpi, "OMPI_COMM_WORLD_",
                    "OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE");
  if (environment.has("PMI_RANK") &&
      (environment.has("MPI_LOCALRANKID") || !is_slurm_step(environment)))
    return read_mpi(environment, LaunchedBy::kMpich, "PMI_", "MPI_LOCALRANKID", "MPI_LOCALNRANKS");
  if (is_slurm_step(environment)) return read_slurm(environment);
  RankInfo alone;
  alone.run_id = random_run_id();
  return alone;
}

}  // namespace

std::string_view name_of(LaunchedBy launched_by) {
  switch (launched_by) {
    case LaunchedBy::kNobody:
      return "nobody";
    case LaunchedBy::kPaceline:
      return "paceline";
    case LaunchedBy::kTorchrun:
      return "torchrun";
    case LaunchedBy::kRankVariables:
      return "RANK and WORLD_SIZE";
    case LaunchedBy::kOpenMpi:
      return "mpirun (Open MPI)";
    case LaunchedBy::kSlurm:
      return "srun";
    case LaunchedBy::kMpich:
      return "mpirun (PMI)";
  }
  throw base::InternalError("an unknown LaunchedBy");
}

RankInfo read_rank_info(const Environment& environment) {
  RankInfo info = read_place(environment);
  info.grace_seconds = environment.get_seconds(kGraceVariable, 0).value_or(kDefaultGraceSeconds);
  info.rdzv_timeout_seconds =
      environment.get_seconds(kRdzvTimeoutVariable, 1).value_or(kDefaultRdzvTimeoutSeconds);
  info.is_under_slurm = environment.has("SLURM_JOB_ID");
  const auto secret = read_secret(environment);
  // paceline's own launcher has derived the id already, from the same secret.
  if (!environment.has("PACELINE_RUN_ID")) info.run_id = guarded_run_id(info.run_id, secret);
  info.can_be_guessed = info.num_nodes > 1 && !secret;
  return info;
}

std::string random_run_id() {
  std::array<std::uint64_t, 2> bits{};
  if (getrandom(bits.data(), sizeof bits, 0) != static_cast<ssize_t>(sizeof bits))
    throw base::InternalError("getrandom gave no random bits");
  return fmt::format("{:016x}{:016x}", bits[0], bits[1]);
}

std::string first_slurm_host(std::string_view node_list) {
  const std::size_t end = node_list.find_first_of(",[");
  std::string host(node_list.substr(0, end));
  if (end == std::string_view::npos || node_list[end] == ',') return host;
  const std::string_view range = node_list.substr(end + 1);
  host += range.substr(0, range.find_first_of(",-]"));
  // Names may go on after the bracket: "rack[1-2]-node[3-4]".
  const std::size_t close = range.find(']');
  if (close == std::string_view::npos) return host;
  return host + first_slurm_host(range.substr(close + 1));
}

}  // namespace paceline::launch
