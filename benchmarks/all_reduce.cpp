// The time of an all_reduce between local ranks. Prints, on rank 0, {"ms": ...}, the median.
//
// Usage, on every rank: paceline launch --nproc N -- all_reduce MIB REPEATS

#include "paceline/comm/bootstrap.h"
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

double median_ms(pl::comm::Communicator& communicator, std::int64_t mib, int repeats) {
  const at::Tensor tensor = at::zeros({mib << 18}, at::kFloat);
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
  const int mib = argc == 3 ? std::atoi(argv[1]) : 0;
  const int repeats = argc == 3 ? std::atoi(argv[2]) : 0;
  if (mib < 1 || repeats < 1) {
    std::fputs("usage: all_reduce MIB REPEATS\n", stderr);
    return 2;
  }
  const auto info = pl::launch::read_rank_info(pl::launch::Environment::of_process());
  const auto communicator = pl::comm::connect(pl::comm::group_options(info));
  const double ms = median_ms(*communicator, mib, repeats);
  if (info.rank == 0) std::printf("{\"ms\": %.4f}\n", ms);
  communicator->shutdown();
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
