#include "paceline/app/memory_estimate.h"

#include "paceline/app/assembly/assembly.h"
#include "paceline/app/assembly/initial_values.h"
#include "paceline/app/assembly/model_assembly.h"
#include "paceline/app/recipe/builtin.h"
#include "paceline/base/error.h"
#include "paceline/comm/fake/fake_communicator.h"
#include "paceline/config/load.h"
#include "paceline/parallel/gradient_clipping.h"
#include "paceline/tensor/autocast.h"
#include "paceline/tensor/memory_count.h"
#include "paceline/train/microbatches.h"
#include "paceline/train/run_context.h"
#include "paceline/train/train_state.h"
#include "support/one_thread.h"
#include "support/temp_folder.h"

#include <atomic>
#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::app {
namespace {

/// Much state beside few activations, so that a part of either that is forgotten shows.
constexpr const char* kWideVit = R"(
model:      {name: vit, img_size: 32, patch_size: 8, embed_dim: 192, depth: 3, num_heads: 3}
data:       {name: synthetic, num_samples: 64, num_val_samples: 4, num_classes: 5, size: 32,
             batch_size_per_rank: 8, num_threads: 1}
optimizer:  {name: adamw, lr: 0.01}
checkpoint: {async: false}
)";
constexpr int kRanks = 4;

class MemoryEstimateTest : public ::testing::Test {
 protected:
  Recipe load(const std::vector<std::string>& overrides = {}) const {
    return config::load<Recipe>(folder_.write("recipe.yaml", kWideVit), overrides,
                                {registries_->catalogs(), kRanks})
        .value;
  }
  MemoryQuestion question(const Recipe& recipe) const {
    return ask_about(recipe, *registries_, kRanks, kRanks);
  }
  MemoryEstimate estimate(const std::vector<std::string>& overrides) const {
    const Recipe recipe = load(overrides);
    return estimate_memory(recipe, *registries_, question(recipe));
  }
  /// The most that tensors take in a step of as many microbatches as the recipe says, on rank 0 of
  /// a world without peers, with model and optimizer.
  std::int64_t measure_step(const Recipe& recipe, int ranks) const;
  /// The same with the recipe's algorithms, on one rank, with 8 images of 128 pixels at once.
  std::int64_t measure_algorithms(const Recipe& recipe) const;

  test::TempFolder folder_;
  std::unique_ptr<Registries> registries_ = make_registries();
};

std::int64_t MemoryEstimateTest::measure_step(const Recipe& recipe, int ranks) const {
  tensor::count_tensor_memory();
  const std::int64_t before = tensor::tensor_memory().current;
  const auto communicator = comm::make_fake_communicator(0, ranks);
  std::vector<std::string> notes;
  const auto task = make_task(recipe, *registries_);
  const auto values = initial_values(recipe, task->network(), /*class_names=*/{}, notes);
  const auto plan = registries_->optimizers.build(recipe.optimizer);
  const auto strategy = make_strategy(recipe, *communicator, ranks);
  strategy->prepare(task->network(), plan->rules, values);
  const auto optimizer = plan->make(strategy->param_groups(), strategy->parameter_shards());
  tensor::restart_peak();
  for (int step = 0; step < 2; ++step) {
    for (int i = 0; i < recipe.train.grad_accum_steps; ++i) {
      const std::int64_t images = 8 / recipe.train.grad_accum_steps;
      train::Batch batch;
      batch.fields.set(train::kImages, at::randn({images, 3, 32, 32}));
      batch.fields.set(train::kLabels, at::zeros({images}, at::kLong));
      strategy->begin_microbatch(i == 0, i + 1 == recipe.train.grad_accum_steps);
      at::Tensor loss;
      {
        const tensor::AutocastGuard autocast(at::kCPU, autocast_dtype(recipe.train.precision));
        loss = task->loss(task->forward(batch, {}), batch);
      }
      strategy->backward(loss, 1.0);
    }
    strategy->finish_gradients();
    parallel::clip_grad_norm(*strategy, 1.0);
    optimizer->step(0.01);
  }
  return tensor::tensor_memory().peak - before;
}

std::int64_t MemoryEstimateTest::measure_algorithms(const Recipe& recipe) const {
  tensor::count_tensor_memory();
  const std::int64_t before = tensor::tensor_memory().current;
  const auto communicator = comm::make_fake_communicator(0, 1);
  const std::atomic<int> no_signal{0};
  const train::RunContext run{*communicator, {}, 1, {}, no_signal};
  std::vector<std::string> notes;
  train::TrainState state;
  state.task = make_task(recipe, *registries_);
  const auto values = initial_values(recipe, state.task->network(), /*class_names=*/{}, notes);
  const auto plan = registries_->optimizers.build(recipe.optimizer);
  state.strategy = make_strategy(recipe, *communicator, 1);
  const auto engine = make_engine_of_algorithms(recipe, *registries_);
  lay_out(state, *engine, run, plan->rules, values);
  add_training_state(state, *engine, run, *plan);
  train::Batch batch;
  batch.size = batch.global_size = 8;
  batch.indices.resize(8);
  batch.fields.set(train::kImages, at::randn({batch.size, 3, 128, 128}));
  batch.fields.set(train::kLabels, at::zeros({batch.size}, at::kLong));
  const auto pass = [&](std::span<const train::Batch> microbatches) {
    for (std::size_t i = 0; i < microbatches.size(); ++i) {
      state.batch = microbatches[i];
      state.strategy->begin_microbatch(i == 0, i + 1 == microbatches.size());
      state.outputs = state.task->forward(state.batch, {});
      state.loss = state.task->loss(state.outputs, state.batch);
      engine->fire(train::Event::kAfterLoss, state, run);
      state.strategy->backward(state.loss, 1.0);
    }
    state.strategy->finish_gradients();
  };
  tensor::restart_peak();
  for (int step = 0; step < 2; ++step) {
    state.batch = batch;
    engine->fire(train::Event::kStepStart, state, run);
    const auto microbatches =
        train::make_microbatches(state, run, *engine, recipe.train.grad_accum_steps);
    if (train::Algorithm* const algorithm = engine->with_extra_pass(state)) {
      pass(microbatches);
      algorithm->after_extra_pass(state);
    }
    pass(microbatches);
    engine->fire(train::Event::kGradientsReady, state, run);
    state.optimizer->step(0.01);
  }
  return tensor::tensor_memory().peak - before;
}

TEST_F(MemoryEstimateTest, CountsWhatAlgorithmsOwn) {
  const std::string average = "++algorithms.ema.half_life=10ba";
  EXPECT_EQ(estimate({}).algorithms, 0u);
  const MemoryEstimate whole = estimate({"parallel.strategy=ddp", average});
  constexpr double kPadding = 64;  // of the weights' one buffer
  EXPECT_NEAR(static_cast<double>(whole.algorithms), static_cast<double>(whole.parameters),
              kPadding)
      << "an average of each weight";
  const MemoryEstimate shard = estimate({"parallel.strategy=fsdp", average});
  EXPECT_LT(shard.algorithms, whole.algorithms) << "of a shard";
}

TEST_F(MemoryEstimateTest, CountsWhatAlgorithmsCopy) {
  const test::OneThread one_thread;
  const auto extra_of = [&](const std::string& algorithm, int accumulation, const auto& bytes_of) {
    std::vector<std::string> overrides{"parallel.strategy=none", "model.img_size=128",
                                       "model.patch_size=16", "data.size=128",
                                       fmt::format("train.grad_accum_steps={}", accumulation)};
    const std::int64_t plain = bytes_of(overrides);
    overrides.push_back("++algorithms." + algorithm);
    return static_cast<double>(bytes_of(overrides) - plain);
  };
  const auto predicted = [&](const std::vector<std::string>& overrides) {
    return static_cast<std::int64_t>(estimate(overrides).total());
  };
  const auto measured = [&](const std::vector<std::string>& overrides) {
    return measure_algorithms(load(overrides));
  };
  for (const char* algorithm :
       {"mixup.alpha=1", "cutmix.alpha=1", "cutout.length=0.5", "sam.rho=0.05"}) {
    for (const int accumulation : {1, 2}) {  // all microbatches are mixed before the first pass
      const double expected = extra_of(algorithm, accumulation, predicted);
      EXPECT_GT(expected, 500'000) << algorithm;
      EXPECT_NEAR(extra_of(algorithm, accumulation, measured) / expected, 1, 0.05)
          << algorithm << ", " << accumulation << " microbatches";
    }
  }
}

TEST_F(MemoryEstimateTest, AStepTakesWhatWasPredicted) {
  const test::OneThread one_thread;
  const std::string plain = "train.precision=fp32";
  const std::string bf16 = "train.precision=bf16";
  const std::string two_microbatches = "train.grad_accum_steps=2";
  const std::string checkpointing = "train.activation_checkpointing={every: 1}";
  const std::string narrow_sums = "parallel.fsdp.reduce_dtype=bf16";
  const std::map<std::string, std::vector<std::string>> settings{
      {"none", {plain, bf16, checkpointing}},
      {"ddp", {plain}},
      {"zero1", {plain, two_microbatches}},
      {"zero2", {plain, narrow_sums}},
      {"fsdp",
       {plain, bf16, two_microbatches, checkpointing, "parallel.fsdp.reshard_after_forward=false"}},
      {"hsdp", {plain}}};
  for (const auto& [strategy, changes] : settings) {
    for (const std::string& change : changes) {
      const Recipe recipe = load({"parallel.strategy=" + strategy, change});
      const MemoryEstimate predicted = estimate_memory(recipe, *registries_, question(recipe));
      const auto expected = static_cast<double>(predicted.total() - predicted.input);
      const auto measured =
          static_cast<double>(measure_step(recipe, strategy == "none" ? 1 : kRanks));
      EXPECT_LE(measured, 1.02 * expected) << strategy << ' ' << change;
      // Nothing is on its way when most activations are there, so the sum is a little too much.
      EXPECT_GE(measured, 0.75 * expected) << strategy << ' ' << change;
    }
  }
}

TEST_F(MemoryEstimateTest, ShardsAreAnEqualShareOfTheState) {
  const MemoryEstimate whole = estimate({"parallel.strategy=ddp"});
  const auto share = [](std::uint64_t bytes) { return static_cast<double>(bytes) / kRanks; };
  for (const std::string strategy : {"fsdp", "hsdp"}) {
    const MemoryEstimate sharded = estimate({"parallel.strategy=" + strategy});
    EXPECT_GE(static_cast<double>(sharded.parameters), share(whole.parameters)) << strategy;
    EXPECT_LE(static_cast<double>(sharded.parameters), 1.005 * share(whole.parameters)) << strategy;
    EXPECT_LE(static_cast<double>(sharded.gradients), 1.005 * share(whole.gradients)) << strategy;
    EXPECT_LE(static_cast<double>(sharded.optimizer), 1.005 * share(whole.optimizer)) << strategy;
  }
  const MemoryEstimate zero = estimate({"parallel.strategy=zero2"});
  EXPECT_GE(zero.parameters, whole.parameters) << "only gradients and optimizer are cut";
  EXPECT_LE(static_cast<double>(zero.gradients), 1.005 * share(whole.gradients));
  EXPECT_LE(static_cast<double>(zero.optimizer), 1.005 * share(whole.optimizer));
}

TEST_F(MemoryEstimateTest, HsdpSharesWithinItsGroupOnly) {
  const auto fsdp = estimate({"parallel.strategy=fsdp"});
  const auto pairs = estimate({"parallel.strategy=hsdp", "parallel.fsdp.shard_group_size=2"});
  EXPECT_NEAR(static_cast<double>(pairs.gradients), 2.0 * static_cast<double>(fsdp.gradients),
              0.01 * static_cast<double>(fsdp.gradients));
  EXPECT_THROW(estimate({"parallel.strategy=hsdp", "parallel.fsdp.shard_group_size=3"}),
               base::ConfigError);
}

TEST_F(MemoryEstimateTest, ActivationsFollowThePrecisionAndTheMicrobatch) {
  const std::string many = "data.batch_size_per_rank=64";
  const MemoryEstimate plain = estimate({many});
  EXPECT_EQ(plain.strategy, ParallelStrategy::kDdp) << "what auto is on several ranks";
  EXPECT_LT(estimate({many, "train.precision=bf16"}).activations, 7 * plain.activations / 10);
  EXPECT_LT(estimate({many, "train.activation_checkpointing={every: 1}"}).activations,
            65 * plain.activations / 100);
  EXPECT_LT(estimate({many, "train.grad_accum_steps=2"}).activations, 6 * plain.activations / 10);
  EXPECT_EQ(estimate({many, "train.grad_accum_steps=2"}).input, plain.input);
}

TEST_F(MemoryEstimateTest, ACheckpointInTheBackgroundTakesACopyOfWhatARankWrites) {
  const MemoryEstimate waits = estimate({});
  const MemoryEstimate copies = estimate({"checkpoint.async=true"});
  const std::uint64_t copy = copies.transient - waits.transient;
  const auto written = static_cast<double>(waits.parameters + waits.optimizer);
  EXPECT_NEAR(static_cast<double>(copy), written, 0.01 * written);
}

TEST_F(MemoryEstimateTest, EveryStrategyIsEstimatedAndNoneIsAlone) {
  const Recipe recipe = load();
  const auto estimates = estimate_strategies(recipe, *registries_, question(recipe));
  ASSERT_EQ(estimates.size(), 6U);
  EXPECT_EQ(estimates[0].strategy, ParallelStrategy::kNone);
  EXPECT_EQ(estimates[0].batches.world_size, 1);
  EXPECT_EQ(estimates[5].strategy, ParallelStrategy::kHsdp);
  EXPECT_EQ(estimates[5].batches.world_size, kRanks);
  EXPECT_EQ(estimates[0].batches.microbatch(), 8);
}

}  // namespace
}  // namespace paceline::app
