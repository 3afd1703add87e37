// A bare loop of the arithmetic that the trainer does in the launch-bound benchmark: the same
// network, loss, flat memory and optimizer, and nothing else. Prints {"step_ms": ...}.
//
// Usage: bare_loop STEPS

#include "paceline/models/vit.h"
#include "paceline/nn/losses.h"
#include "paceline/nn/module_tree.h"
#include "paceline/optim/sgd.h"
#include "paceline/parallel/replicated_strategy.h"
#include "paceline/tensor/torch.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <vector>

namespace pl = paceline;
using Clock = std::chrono::steady_clock;

namespace {

constexpr std::size_t kWarmUpSteps = 100;

double median_step_ms(int steps) {
  pl::models::Vit model({.num_classes = 10,
                         .img_size = 32,
                         .patch_size = 8,
                         .embed_dim = 64,
                         .depth = 12,
                         .num_heads = 4});
  model.initialize(1);
  pl::nn::set_channels_last(model);
  const pl::optim::SgdConfig sgd{.lr = 0.01};
  const auto strategy = pl::parallel::make_none({});
  strategy->prepare(model, pl::optim::weight_decay_rules(sgd.weight_decay, false, {}));
  const auto optimizer = pl::optim::make_optimizer(sgd, strategy->param_groups());
  const pl::nn::CrossEntropy criterion({});
  const at::Tensor images = at::randn({1, 3, 32, 32}).to(at::MemoryFormat::ChannelsLast);
  const at::Tensor labels = at::full({1}, 3, at::kLong);

  std::vector<double> ends;
  for (int step = 0; step < steps; ++step) {
    strategy->begin_microbatch(true, true);
    const at::Tensor loss = criterion.sum(model.forward(images, {1, step, 0}), labels);
    strategy->backward(loss, 1.0);
    strategy->finish_gradients();
    optimizer->step(sgd.lr);
    ends.push_back(
        std::chrono::duration<double, std::milli>(Clock::now().time_since_epoch()).count());
  }
  std::vector<double> times;
  for (std::size_t i = kWarmUpSteps + 1; i < ends.size(); ++i)
    times.push_back(ends[i] - ends[i - 1]);
  const auto middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
  std::nth_element(times.begin(), middle, times.end());
  return *middle;
}

}  // namespace

int main(int argc, char** argv) try {
  const int steps = argc == 2 ? std::atoi(argv[1]) : 0;
  if (steps <= static_cast<int>(kWarmUpSteps) + 1) {
    std::fprintf(stderr, "usage: bare_loop STEPS, more than %zu\n", kWarmUpSteps + 1);
    return 2;
  }
  std::printf("{\"step_ms\": %.4f}\n", median_step_ms(steps));
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
