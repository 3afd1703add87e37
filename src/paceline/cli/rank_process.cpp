#include "paceline/cli/rank_process.h"

#include "paceline/base/error.h"
#include "paceline/base/log.h"
#include "paceline/base/system_limit.h"
#include "paceline/comm/c10d/bootstrap.h"
#include "paceline/launch/machine.h"
#include "paceline/tensor/aten.h"
#include "paceline/tensor/cuda_plugin.h"
#include "paceline/tensor/device.h"

#include <algorithm>
#include <chrono>
#include <cstdint>

namespace paceline::cli {
namespace {

constexpr int kMostThreads = 4096;

/// OMP_NUM_THREADS, else this rank's share of the cores.
int threads_per_rank(const launch::Environment& environment, const launch::RankInfo& info) {
  const auto wanted = environment.get_int("OMP_NUM_THREADS", 1, kMostThreads);
  return wanted.value_or(std::max(1, launch::available_cores() / info.local_world_size));
}

/// The GPU of this rank, if it has one to use. What is wrong goes into the group's options: the
/// other ranks are told, and whether all have one is found out when they meet.
std::unique_ptr<tensor::Device> own_gpu(const launch::Environment& environment,
                                        const launch::RankInfo& info, comm::GroupOptions& group) {
  const int gpus = launch::visible_gpus(environment);
  if (gpus == 0) return nullptr;
  const tensor::CudaPlugin plugin = tensor::load_cuda_plugin();
  if (plugin.handle == nullptr) {
    group.why_no_gpu = plugin.reason;
    if (info.rank == 0) {
      base::log_warning("this run is on the CPU although its machine has {} GPUs: {}", gpus,
                        plugin.reason);
    }
    return nullptr;
  }
  try {
    auto gpu = tensor::open_cuda_device(info.local_rank);
    group.device = gpu->place().str();
    group.gpu_uuid = gpu->uuid();
    return gpu;
  } catch (const base::ConfigError& error) {
    group.device_fault = error.what();
    return nullptr;
  }
}

/// Or libraries would find out, and end the process without a word that helps.
void require_room(int num_threads, const comm::GroupOptions& group) {
  launch::raise_descriptor_limit();
  constexpr int kOtherDescriptors = 64;
  base::require_descriptors(kOtherDescriptors + comm::descriptors_needed(group));
  constexpr int kOtherThreads = 24;  // of connections and data; LibTorch has a pool of num_threads
  base::require_threads(num_threads + kOtherThreads);
}

/// How many threads this rank works with, from here on.
int start_threads(const launch::Environment& environment, const launch::RankInfo& info) {
  c10::initLogging();  // LibTorch looks at TORCH_CPP_LOG_LEVEL only when it is asked to
  const int num_threads = threads_per_rank(environment, info);
  at::set_num_threads(num_threads);
  return num_threads;
}

std::chrono::milliseconds grace_of(const launch::RankInfo& info) {
  return std::chrono::milliseconds(static_cast<std::int64_t>(info.grace_seconds * 1000));
}

void warn_of_strangers(const launch::RankInfo& info) {
  if (!info.can_be_guessed || info.rank != 0) return;
  base::log_warning(
      "{} machines meet without a secret, so that whoever reaches {}:{} can disturb the run: set "
      "PACELINE_SECRET (or PACELINE_SECRET_FILE) to the same text on all of them",
      info.num_nodes, info.master_addr, info.master_port);
}

/// Opens this rank's GPU, if it has one, and meets the others.
std::unique_ptr<comm::Communicator> meet(const launch::Environment& environment,
                                         const launch::RankInfo& info, int num_threads,
                                         const base::Interruption& interruption,
                                         std::unique_ptr<tensor::Device>& gpu) {
  comm::GroupOptions group = comm::group_options(info);
  require_room(num_threads, group);
  gpu = own_gpu(environment, info, group);
  (gpu ? *gpu : tensor::cpu_device()).bind_thread();
  group.interruption = &interruption;
  warn_of_strangers(info);
  return comm::connect(group);
}

}  // namespace

RankProcess::RankProcess(const app::Registries& registries)
    : environment_(launch::Environment::of_process()),
      info_(launch::read_rank_info(environment_)),
      signals_(grace_of(info_), info_.is_under_slurm),
      num_threads_(start_threads(environment_, info_)),
      communicator_(meet(environment_, info_, num_threads_, signals_.interruption(), gpu_)),
      first_step_(environment_),
      context_{registries,
               *communicator_,
               files_,
               signals_.interruption(),
               num_threads_,
               info_.local_world_size,
               launch::available_cores(),
               gpu_ ? *gpu_ : tensor::cpu_device(),
               [this](std::int64_t step) { first_step_.tell(step); }} {}

}  // namespace paceline::cli
