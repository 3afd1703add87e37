#pragma once

#include "paceline/launch/environment.h"

#include <string>
#include <string_view>

namespace paceline::launch {

/// More ranks than this, on one machine or in all, are taken for a mistake.
inline constexpr int kMaxRanks = 1 << 16;
/// torchrun's, where nothing else is given and every machine must know the same.
inline constexpr int kDefaultMasterPort = 29500;

/// From the signal that asks a run to stop until its ranks are killed. Slurm and Kubernetes have
/// the same.
inline constexpr double kDefaultGraceSeconds = 30;
/// Until all ranks have come.
inline constexpr double kDefaultRdzvTimeoutSeconds = 300;
/// By which ranks are told either, also where another launcher starts them.
inline constexpr std::string_view kGraceVariable = "PACELINE_GRACE";
inline constexpr std::string_view kRdzvTimeoutVariable = "PACELINE_RDZV_TIMEOUT";

/// Who started this process as one rank of many.
enum class LaunchedBy { kNobody, kPaceline, kTorchrun, kRankVariables, kOpenMpi, kSlurm, kMpich };

/// As a user would call it: "torchrun", "srun", "RANK and WORLD_SIZE".
std::string_view name_of(LaunchedBy launched_by);

/// This process's place in the run.
struct RankInfo {
  int rank = 0;
  int local_rank = 0;
  int world_size = 1;
  int local_world_size = 1;
  int node_rank = 0;
  int num_nodes = 1;
  std::string master_addr = "127.0.0.1";
  int master_port = 0;  ///< 0: any; only with world_size 1
  /// What keeps the store's keys and values apart from other runs' and strangers'. Under `paceline`
  /// on one machine: 128 random bits that no other run knows. Otherwise what the outer launcher
  /// calls the run and its restarts, hashed with the secret where there is one.
  std::string run_id;
  /// torchrun's agent already serves a TCPStore at master_addr:master_port; rank 0 must join it
  /// instead of listening itself.
  bool store_is_served = false;
  LaunchedBy launched_by = LaunchedBy::kNobody;
  double grace_seconds = kDefaultGraceSeconds;
  double rdzv_timeout_seconds = kDefaultRdzvTimeoutSeconds;
  /// The run has several machines and no secret (launch/secret.h): strangers can derive run_id.
  bool can_be_guessed = false;
  /// The process runs in a Slurm job, whoever started it there.
  bool is_under_slurm = false;
};

/// Reads the variables of `paceline`, torchrun, mpirun (Open MPI, MPICH, Intel MPI) or srun, in
/// this order of trust; without any of them the process is rank 0 of 1. Throws ConfigError that
/// names the variable for values that are missing, no numbers or contradict each other.
RankInfo read_rank_info(const Environment& environment);

/// 128 bits from the kernel as 32 hexadecimal digits.
std::string random_run_id();

/// The first host of a SLURM node list: "node[07-09,12],gpu1" gives "node07".
std::string first_slurm_host(std::string_view node_list);

}  // namespace paceline::launch
