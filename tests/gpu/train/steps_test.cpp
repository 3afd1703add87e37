// Whole steps: on one GPU and on several, under every strategy, beside one rank on the CPU.

#include "gpu/count_waits.h"
#include "gpu/test_devices.h"
#include "paceline/app/recipe/builtin.h"
#include "paceline/app/train_run.h"
#include "paceline/base/file.h"
#include "paceline/base/interruption.h"
#include "paceline/comm/local/local_group.h"
#include "paceline/optim/sgd.h"
#include "paceline/parallel/gradient_clipping.h"
#include "rank/comm/connected_ranks.h"
#include "support/block_net.h"
#include "support/finish_step.h"
#include "support/strategies.h"
#include "support/temp_folder.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <sstream>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace paceline::train {
namespace {

using ::testing::Each;
using ::testing::IsEmpty;

constexpr std::int64_t kBatch = 16;

/// Ten steps of SGD of a rank that has its share of a batch. Returns the sum of the squares of the
/// parameters and buffers that this rank would save: over all ranks, each counts once.
double squares_after_steps(parallel::Strategy& strategy, int rank, int world_size,
                           at::Device place) {
  test::BlockNet net(0, {.dtype = at::kFloat});
  net.to(place);
  strategy.prepare(net, optim::weight_decay_rules(1e-4, false, {}));
  const auto optimizer =
      optim::make_optimizer(optim::SgdConfig{.nesterov = true}, strategy.param_groups());
  const std::int64_t share = kBatch / world_size;
  const auto own = [&](const at::Tensor& whole) {
    return whole.narrow(0, rank * share, share).to(place);
  };
  const at::Tensor images = own(test::wave({kBatch, 3, 8, 8}, 3, at::kFloat));
  const at::Tensor targets = own(test::wave({kBatch, 5}, 5, at::kFloat));
  for (int step = 0; step < 10; ++step) {
    strategy.begin_microbatch(true, true);
    strategy.backward((net.forward(images) - targets).square().sum(), 1.0 / kBatch);
    test::finish_step(strategy);
    parallel::clip_grad_norm(strategy, 0.5);
    optimizer->step(0.05);
  }
  double sum = 0;
  for (const auto& shard : strategy.model_state()) {
    if (shard.is_writer) sum += shard.data.detach().to(at::kDouble).square().sum().item<double>();
  }
  return sum;
}

double expected_sum() {
  const auto none = parallel::make_none({});
  return squares_after_steps(*none, 0, 1, at::kCPU);
}

class Steps : public ::testing::TestWithParam<std::string> {};

TEST_P(Steps, OfOneGpuEqualTheCpu) {
  const auto device = test::open_device(0);
  const auto communicator = comm::LocalGroup(1).join(0);
  const auto strategy = test::main_strategies().at(GetParam())(*communicator);
  const double sum = squares_after_steps(*strategy, 0, 1, device->place());
  const double expected = expected_sum();
  EXPECT_NEAR(sum, expected, 1e-5 * expected);
}

TEST_P(Steps, OfSeveralGpusEqualTheCpu) {
  int ranks = 1;
  while (2 * ranks <= std::min(test::num_devices(), 8)) ranks *= 2;
  if (ranks == 1) GTEST_SKIP() << "this process sees one GPU";
  comm::GroupOptions group = comm::test_options(ranks);
  group.connect_timeout = group.timeout = std::chrono::seconds(60);
  std::vector<double> sums(static_cast<std::size_t>(ranks));
  const auto errors = comm::errors_of(group, [&](const comm::GroupOptions& options) {
    const auto device = test::open_device(options.rank);
    const auto communicator = test::connect(options);
    const auto strategy = test::main_strategies().at(GetParam())(*communicator);
    sums[static_cast<std::size_t>(options.rank)] =
        squares_after_steps(*strategy, options.rank, ranks, device->place());
    communicator->shutdown();
  });
  ASSERT_THAT(errors, Each(IsEmpty()));
  const double expected = expected_sum();
  const double sum = std::accumulate(sums.begin(), sums.end(), 0.0);
  EXPECT_NEAR(sum, expected, 1e-5 * expected);
}

INSTANTIATE_TEST_SUITE_P(Strategies, Steps,
                         ::testing::Values("ddp", "zero1", "zero2", "fsdp", "hsdp"),
                         [](const auto& strategy) { return strategy.param; });

constexpr const char* kRecipe = R"(
run:        {seed: 3, deterministic: true}
model:      {name: vit, img_size: 16, patch_size: 8, embed_dim: 32, depth: 2, num_heads: 2}
data:       {name: synthetic, num_samples: 64, num_val_samples: 4, num_classes: 5, size: 16,
             global_batch_size: 8, num_threads: 1}
train:      {duration: 12ba, eval_every: 12ba}
optimizer:  {name: sgd, lr: 0.05}
checkpoint: {every: null}
loggers:    {jsonl: }
)";

class TrainedRuns : public ::testing::Test {
 protected:
  /// The loss of each step.
  std::vector<double> train(tensor::Device& device, const std::vector<std::string>& overrides) {
    const auto run = folder_.path() / std::to_string(num_runs_++);
    app::TrainRequest request;
    request.recipe = folder_.write("recipe.yaml", kRecipe);
    request.overrides = overrides;
    request.run_directory = run;
    const auto communicator = comm::LocalGroup(1).join(0);
    base::RealFileSystem files;
    const base::Interruption interruption;
    app::run_training(request, {*registries_, *communicator, files, interruption, 1, 1, 1, device});
    std::vector<double> losses;
    std::istringstream lines(base::read_file(run / "metrics.jsonl"));
    for (std::string line; std::getline(lines, line);) {
      const auto values = nlohmann::json::parse(line);
      if (values.contains("train/loss")) losses.push_back(values.at("train/loss").get<double>());
    }
    return losses;
  }

  void expect_near(const std::vector<double>& actual, const std::vector<double>& expected,
                   double tolerance) {
    ASSERT_EQ(actual.size(), expected.size());
    for (std::size_t i = 0; i < actual.size(); ++i)
      EXPECT_NEAR(actual[i], expected[i], tolerance) << "step " << i + 1;
  }

  test::TempFolder folder_;
  std::unique_ptr<app::Registries> registries_ = app::make_registries();
  std::unique_ptr<tensor::Device> device_ = test::open_device(0);
  int num_runs_ = 0;
};

TEST_F(TrainedRuns, LossesEqualTheCpus) {
  expect_near(train(*device_, {}), train(tensor::cpu_device(), {}), 1e-4);
}

TEST_F(TrainedRuns, RecordedStepsEqualDirectOnes) {
  expect_near(train(*device_, {"train.compile=graph"}), train(*device_, {}), 1e-6);
}

TEST_F(TrainedRuns, HalfPrecisionLearnsAsMuch) {
  const auto full = train(*device_, {});
  expect_near(train(*device_, {"train.precision=bf16"}), full, 0.05);
  expect_near(train(*device_, {"train.precision=fp16"}), full, 0.05);
}

TEST_F(TrainedRuns, ClippedStepsEqualTheCpus) {
  const std::vector<std::string> clipped{"train.grad_clip_norm=0.1", "train.grad_accum_steps=2"};
  expect_near(train(*device_, clipped), train(tensor::cpu_device(), clipped), 1e-4);
}

/// Of the 24 steps of a run less the 12 of another: what a start and an end wait for does not
/// count.
TEST_F(TrainedRuns, AStepWaitsOnceForTheGpu) {
  const auto waits = [&](const std::string& steps, std::vector<std::string> overrides) {
    overrides.insert(overrides.end(),
                     {"train.duration=" + steps + "ba", "train.eval_every=" + steps + "ba"});
    return test::count_waits(*device_, [&] { train(*device_, overrides); });
  };
  const std::map<std::string, std::vector<std::string>> runs{
      {"waits_per_step", {"train.log_accuracy=false"}},
      {"waits_per_step_with_accuracy", {}},
      {"waits_per_step_clipped", {"train.grad_clip_norm=0.1", "train.grad_accum_steps=2"}},
      {"waits_per_step_in_fp16", {"train.precision=fp16"}},
      {"waits_per_step_recorded", {"train.compile=graph", "train.log_accuracy=false"}}};
  for (const auto& [name, overrides] : runs) {
    train(*device_, overrides);  // what a process waits for once
    const double per_step = (waits("24", overrides) - waits("12", overrides)) / 12.0;
    RecordProperty(name, std::to_string(per_step));
    EXPECT_EQ(per_step, 1) << name << ": loss, counts, norm and flags come together, and must";
  }
}

}  // namespace
}  // namespace paceline::train
