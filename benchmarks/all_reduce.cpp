// The time of an all_reduce between local ranks. Prints, on rank 0, {"ms": ...}, the median.
//
// Usage, on every rank: paceline launch --nproc N -- all_reduce MIB REPEATS [RANKS_PER_NODE]
// MIB may be a fraction. With RANKS_PER_NODE the ranks of this machine stand for several nodes.

#include "paceline/comm/c10d/bootstrap.h"
#include "paceline/launch/environment.h"
#include "paceline/launch/rank_info.h"
#include "paceline/tensor/aten.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <vector>

namespace pl = paceline;
using Clock = std::chrono::steady_clock;

namespace {

double median_ms(pl::comm::Communicator& communicator, double mib, int repeats) {
  const auto numel = static_cast<std::int64_t>(mib * (1 << 18));
  const at::Tensor tensor = at::zeros({numel}, at::kFloat);
  std::vector<double> times;
  for (int i = 0; i < repeats; ++i) {
    communicator.barrier();
    const auto start = Clock::now();
    communicator.all_reduce(tensor, pl::comm::ReduceOp::kSum)->wait();
    times.push_back(std::chrono::duration<double, std::milli>(Clock::now() - start).count());
  }
  std::ranges::nth_element(times, times.begin() + repeats / 2);
  return times[static_cast<std::size_t>(repeats / 2)];
}

}  // namespace

int main(int argc, char** argv) try {
  const bool has_all = argc == 3 || argc == 4;
  const double mib = has_all ? std::atof(argv[1]) : 0;
  const int repeats = has_all ? std::atoi(argv[2]) : 0;
  if (mib <= 0 || repeats < 1) {
    std::fputs("usage: all_reduce MIB REPEATS [RANKS_PER_NODE]\n", stderr);
    return 2;
  }
  const auto info = pl::launch::read_rank_info(pl::launch::Environment::of_process());
  auto options = pl::comm::group_options(info);
  if (argc == 4) options.ranks_per_node = std::atoi(argv[3]);
  const auto communicator = pl::comm::connect(options);
  const double ms = median_ms(*communicator, mib, repeats);
  if (info.rank == 0) std::printf("{\"ms\": %.4f}\n", ms);
  communicator->shutdown();
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
