#include "paceline/cli/rank_process.h"

#include "paceline/base/file.h"
#include "paceline/base/log.h"
#include "paceline/cli/signal_watcher.h"
#include "paceline/comm/bootstrap.h"
#include "paceline/launch/environment.h"
#include "paceline/launch/machine.h"
#include "paceline/tensor/aten.h"

#include <algorithm>

namespace paceline::cli {
namespace {

constexpr int kMostThreads = 4096;

/// OMP_NUM_THREADS, else this rank's share of the cores.
int threads_per_rank(const launch::Environment& environment, const launch::RankInfo& info) {
  const auto wanted = environment.get_int("OMP_NUM_THREADS", 1, kMostThreads);
  return wanted.value_or(std::max(1, launch::available_cores() / info.local_world_size));
}

}  // namespace

int run_as_rank(const std::function<int(const app::SessionContext& context)>& work) {
  const SignalWatcher signals;
  const auto environment = launch::Environment::of_process();
  const launch::RankInfo info = launch::read_rank_info(environment);
  const int num_threads = threads_per_rank(environment, info);
  at::set_num_threads(num_threads);

  const auto registries = app::make_registries();
  const std::unique_ptr<comm::Communicator> communicator = comm::connect(comm::group_options(info));
  base::RealFileSystem files;
  const int exit_code = work({*registries, *communicator, files, signals.received(), num_threads,
                              info.local_world_size, launch::available_cores()});
  communicator->shutdown();
  return exit_code;
}

}  // namespace paceline::cli
