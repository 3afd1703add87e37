#include "paceline/cli/rank_process.h"

#include "paceline/base/file.h"
#include "paceline/base/log.h"
#include "paceline/cli/signal_watcher.h"
#include "paceline/comm/bootstrap.h"
#include "paceline/launch/environment.h"
#include "paceline/launch/machine.h"
#include "paceline/tensor/aten.h"
#include "paceline/tensor/cuda_plugin.h"
#include "paceline/tensor/device.h"

#include <algorithm>

namespace paceline::cli {
namespace {

constexpr int kMostThreads = 4096;

/// OMP_NUM_THREADS, else this rank's share of the cores.
int threads_per_rank(const launch::Environment& environment, const launch::RankInfo& info) {
  const auto wanted = environment.get_int("OMP_NUM_THREADS", 1, kMostThreads);
  return wanted.value_or(std::max(1, launch::available_cores() / info.local_world_size));
}

/// Each rank of a machine takes the GPU of its number there. nullptr where there is none to use.
std::unique_ptr<tensor::Device> own_gpu(const launch::Environment& environment,
                                        const launch::RankInfo& info) {
  const int gpus = launch::visible_gpus(environment);
  if (gpus == 0) return nullptr;
  const tensor::CudaPlugin plugin = tensor::load_cuda_plugin();
  if (plugin.handle != nullptr) return tensor::open_cuda_device(info.local_rank);
  if (info.rank == 0) {
    base::log_warning("this run is on the CPU although its machine has {} GPUs: {}", gpus,
                      plugin.reason);
  }
  return nullptr;
}

}  // namespace

int run_as_rank(const std::function<int(const app::SessionContext& context)>& work) {
  const SignalWatcher signals;
  const auto environment = launch::Environment::of_process();
  const launch::RankInfo info = launch::read_rank_info(environment);
  const int num_threads = threads_per_rank(environment, info);
  at::set_num_threads(num_threads);

  const std::unique_ptr<tensor::Device> gpu = own_gpu(environment, info);
  tensor::Device& device = gpu ? *gpu : tensor::cpu_device();
  device.bind_thread();
  comm::GroupOptions group = comm::group_options(info);
  if (gpu) group.device = "cuda";

  const auto registries = app::make_registries();
  const std::unique_ptr<comm::Communicator> communicator = comm::connect(group);
  base::RealFileSystem files;
  const int exit_code = work({*registries, *communicator, files, signals.received(), num_threads,
                              info.local_world_size, launch::available_cores(), device});
  communicator->shutdown();
  return exit_code;
}

}  // namespace paceline::cli
