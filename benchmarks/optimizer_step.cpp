// The time of an optimizer's step over the parameters of a ResNet-50, flat as ddp lays them out.
// Prints {"ms": ...}, the median.
//
// Usage: optimizer_step NAME REPEATS

#include "paceline/app/recipe/builtin.h"
#include "paceline/config/bind.h"
#include "paceline/models/resnet/resnet.h"
#include "paceline/parallel/replicated/replicated_strategy.h"
#include "paceline/tensor/torch.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <stdexcept>
#include <vector>

namespace pl = paceline;
using Clock = std::chrono::steady_clock;

namespace {

std::unique_ptr<pl::optim::OptimizerPlan> plan_of(const char* name) {
  const auto registries = pl::app::make_registries();
  const pl::config::ComponentEntry* const entry = registries->optimizers.find(name);
  if (entry == nullptr) throw std::runtime_error("there is no such optimizer");
  return registries->optimizers.build({entry->name, entry->info, entry->make()});
}

double median_ms(const char* name, int repeats) {
  const auto plan = plan_of(name);
  pl::models::ResNet model({.layers = {3, 4, 6, 3}, .block = pl::models::ResNetBlock::kBottleneck});
  model.initialize(1);
  const auto strategy = pl::parallel::make_none({});
  strategy->prepare(model, plan->rules);
  const auto groups = strategy->param_groups();
  for (const auto& group : groups) {
    for (const auto& slot : group.slots) slot.grad.uniform_(-1, 1);
  }
  const auto optimizer = plan->make(groups, strategy->parameter_shards());
  std::vector<double> times;
  for (int i = 0; i < repeats; ++i) {
    const auto start = Clock::now();
    optimizer->step(1e-3);
    times.push_back(std::chrono::duration<double, std::milli>(Clock::now() - start).count());
  }
  std::ranges::nth_element(times, times.begin() + repeats / 2);
  return times[static_cast<std::size_t>(repeats / 2)];
}

}  // namespace

int main(int argc, char** argv) try {
  const int repeats = argc == 3 ? std::atoi(argv[2]) : 0;
  if (repeats < 1) {
    std::fputs("usage: optimizer_step NAME REPEATS\n", stderr);
    return 2;
  }
  std::printf("{\"ms\": %.4f}\n", median_ms(argv[1], repeats));
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
