// What the trainer adds to a step: trains a recipe and a bare loop of the same arithmetic in turns,
// in one process, because two processes' step times differ by more than what is measured.
//
// The bare loop does the launch-bound benchmark's step: the same network, flat memory and
// optimizer, and nothing else. Trains RECIPE into DIRECTORY/0, DIRECTORY/1, ... and prints one line
// {"bare_ms": [...]}, the medians before, between and after the rounds.
//
// Usage: trainer_overhead RECIPE DIRECTORY ROUNDS STEPS

#include "paceline/app/recipe/builtin.h"
#include "paceline/app/train_run.h"
#include "paceline/base/file.h"
#include "paceline/base/interruption.h"
#include "paceline/comm/c10d/bootstrap.h"
#include "paceline/models/vit/vit.h"
#include "paceline/nn/losses.h"
#include "paceline/nn/module_tree.h"
#include "paceline/optim/sgd.h"
#include "paceline/parallel/replicated/replicated_strategy.h"
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

constexpr int kWarmUpSteps = 100;

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

double bare_step_ms(int steps) {
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

  std::vector<double> times;  // from the end of one step to the end of the next, as in the metrics
  auto last_end = Clock::now();
  for (int step = 0; step < steps; ++step) {
    strategy->begin_microbatch(true, true);
    const at::Tensor loss = criterion.sum(model.forward_images(images, {1, step, 0}), labels);
    strategy->backward(loss, 1.0);
    strategy->finish_gradients();
    optimizer->step(sgd.lr);
    const auto end = Clock::now();
    if (step > kWarmUpSteps)
      times.push_back(std::chrono::duration<double, std::milli>(end - last_end).count());
    last_end = end;
  }
  return median(times);
}

void run(const char* recipe, const char* directory, int rounds, int steps) {
  const auto registries = pl::app::make_registries();
  const auto communicator = pl::comm::connect({});
  pl::base::RealFileSystem files;
  const pl::base::Interruption no_signal;
  std::vector<double> bare;
  bare.push_back(bare_step_ms(steps));
  for (int round = 0; round < rounds; ++round) {
    const auto run_directory = std::filesystem::path(directory) / std::to_string(round);
    pl::app::TrainRequest request;
    request.recipe = recipe;
    request.run_directory = run_directory;
    pl::app::run_training(request, {*registries, *communicator, files, no_signal});
    bare.push_back(bare_step_ms(steps));
  }
  communicator->shutdown();
  std::printf("{\"bare_ms\": [");
  for (std::size_t i = 0; i < bare.size(); ++i) std::printf("%s%.4f", i == 0 ? "" : ", ", bare[i]);
  std::printf("]}\n");
}

}  // namespace

int main(int argc, char** argv) try {
  const int rounds = argc == 5 ? std::atoi(argv[3]) : 0;
  const int steps = argc == 5 ? std::atoi(argv[4]) : 0;
  if (rounds < 1 || steps <= kWarmUpSteps + 1) {
    std::fprintf(stderr, "usage: trainer_overhead RECIPE DIRECTORY ROUNDS STEPS (more than %d)\n",
                 kWarmUpSteps + 1);
    return 2;
  }
  run(argv[1], argv[2], rounds, steps);
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
