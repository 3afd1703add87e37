// What only one rank meets in a step, through the real strategies: all ranks end alike, after the
// same collectives (which run_ranks compares).

#include "paceline/base/error.h"
#include "paceline/nn/image_network.h"
#include "paceline/optim/sgd.h"
#include "support/run_ranks.h"
#include "support/strategies.h"
#include "unit/train/scripted_run.h"

#include <array>
#include <cmath>
#include <functional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::train {
namespace {

using paceline::test::run_ranks;
using paceline::test::ScriptedRun;
using testing::HasSubstr;
using testing::ThrowsMessage;

/// Two weights, so small that only rank 0's shard holds any of them; they are its outputs.
class TwoWeights final : public nn::ImageNetwork {
 public:
  TwoWeights() {
    first = register_parameter("first", at::ones({1, 2}));
    second = register_parameter("second", at::ones({3}));
  }
  at::Tensor forward_images(const at::Tensor&, const nn::ForwardContext&) override {
    return at::cat({first.flatten(), second});
  }
  void initialize_parameter(const nn::NamedTensor&, const tensor::DrawKey&) const override {}
  double flops_per_image(std::int64_t, std::int64_t) const override { return 0; }
  std::vector<std::string> head_names() const override { return {"fc"}; }

  at::Tensor first, second;
};

/// The loss is the sum of the weights per sample. In training a test may change it.
class SumTask final : public Task {
 public:
  using Change = std::function<at::Tensor(const TwoWeights&, const at::Tensor& loss)>;
  explicit SumTask(Change change)
      : Task(std::make_shared<TwoWeights>()), change_(std::move(change)) {}
  void check_samples(const SampleFacts&) const override {}
  tensor::Fields forward(const Batch& batch, const nn::ForwardContext& context) override {
    return {{"weights", network().forward(batch.fields, context)}};
  }
  at::Tensor loss(const tensor::Fields& outputs, const Batch& batch) override {
    const at::Tensor loss = outputs.at("weights").sum() * batch.size;
    return is_training_ ? change_(static_cast<const TwoWeights&>(network()), loss) : loss;
  }
  std::span<const Metric> metrics() const override { return {}; }
  std::int64_t num_sums() const override { return 0; }
  at::Tensor sums(const tensor::Fields&, const Batch&) override { return {}; }
  void set_training(bool is_training) override { is_training_ = is_training; }

 private:
  bool is_training_ = true;
  Change change_;
};

/// A run of four ranks, of three steps of 4 samples, in which rank 2 meets something in step 2.
class TestedRun {
 public:
  TestedRun(const test::MakeStrategy& make, comm::Communicator& communicator,
            const SumTask::Change& change, std::int64_t num_samples = 8)
      : run_(communicator, num_samples) {
    const auto change_once = [this, change, rank = communicator.rank()](const TwoWeights& weights,
                                                                        const at::Tensor& loss) {
      return run_.state.clock.step == 1 && rank == 2 ? change(weights, loss) : loss;
    };
    run_.state.task = std::make_unique<SumTask>(change_once);
    run_.state.strategy = make(communicator);
    const std::array rules{optim::GroupRule{"all", 0.0, 1.0, [](auto&&...) { return true; }}};
    run_.state.strategy->prepare(run_.state.task->network(), rules);
    run_.state.optimizer =
        optim::make_optimizer(optim::SgdConfig{.momentum = 0}, run_.state.strategy->param_groups());
    run_.config.log_accuracy = false;
    run_.config.eval_every = {3, config::TimeUnit::kBatch};
  }
  ScriptedRun* operator->() { return &run_; }

  /// The weights are all the same.
  void expect_weights(double value) {
    for (const tensor::StateShard& shard : run_.state.strategy->model_state()) {
      const at::Tensor wanted = at::full_like(shard.data, value);
      EXPECT_TRUE(at::allclose(shard.data, wanted, 1e-6, 1e-7)) << shard.data;
    }
  }

 private:
  ScriptedRun run_;
};

void with_every_strategy(const SumTask::Change& change,
                         const std::function<void(TestedRun&)>& check,
                         std::int64_t num_samples = 8) {
  for (const auto& [name, make] : test::main_strategies()) {
    SCOPED_TRACE(name);
    run_ranks(4, [&, &make = make](comm::Communicator& communicator) {
      TestedRun run(make, communicator, change, num_samples);
      check(run);
    });
  }
}

/// Adds a root whose value is 0 and whose gradient is not finite; that of `second` stays finite.
at::Tensor with_root(const TwoWeights& weights, const at::Tensor& loss) {
  return loss + (weights.first * 0).sqrt().sum();
}

TEST(OneRank, ThatOverflowsSkipsTheStepOnAllRanks) {
  with_every_strategy(with_root, [](TestedRun& run) {
    run->scale_loss({.init_scale = 1024});
    run->fit();
    EXPECT_EQ(run->state.clock.step, 3);
    EXPECT_EQ(run->state.optimizer->num_steps(), 2);
    EXPECT_EQ(run->state.scaler->scale(), 512.0);
    run.expect_weights(0.85);  // the mean gradient is 1: a step at 0.1, none, one at 0.05
  });
}

TEST(OneRank, WhoseGradientsAreNotFiniteEndsTheRunOfAllAsDiverged) {
  const auto diverges = [](TestedRun& run, const char* what) {
    EXPECT_THAT([&] { run->fit(); }, ThrowsMessage<base::DivergedError>(HasSubstr(what)));
  };
  with_every_strategy(with_root, [&](TestedRun& run) {
    diverges(run, "the loss of step 3");  // nothing computes a norm, so the weights are gone
  });
  with_every_strategy(with_root, [&](TestedRun& run) {
    run->config.grad_clip_norm = 1.0;
    diverges(run, "the gradient norm of step 2 is nan");
    EXPECT_EQ(run->state.optimizer->num_steps(), 1) << "the step is not applied";
    run.expect_weights(1 - 0.1 / std::sqrt(5.0));
  });
  with_every_strategy(with_root, [&](TestedRun& run) {
    run->config.log_grad_norm = 1;
    diverges(run, "the gradient norm of step 2 is nan");
  });
}

at::Tensor without_second(const TwoWeights& weights, const at::Tensor& /*loss*/) {
  return weights.first.sum();
}

TEST(OneRank, ThatLacksAGradientIsTheSameErrorOnAll) {
  for (const int microbatches : {1, 2}) {  // of which the second has no samples
    with_every_strategy(without_second, [&](TestedRun& run) {
      run->config.grad_accum_steps = microbatches;
      EXPECT_THAT([&] { run->fit(); },
                  ThrowsMessage<base::ConfigError>(HasSubstr("'second' on rank 2")));
    });
  }
}

// Five samples: of the second step's one ranks 1 to 3 have none, and so has rank 2.
TEST(OneRank, OrThreeWithoutSamplesChangeNothing) {
  with_every_strategy(
      with_root,
      [](TestedRun& run) {
        run->config.grad_accum_steps = 2;
        run->config.grad_clip_norm = 100;
        run->fit();
        EXPECT_EQ(run->state.clock.step, 3);
        run.expect_weights(0.75);
      },
      5);
}

TEST(OneRank, ThatFailsEndsTheOthersToo) {
  const auto fails = [](const TwoWeights&, const at::Tensor&) -> at::Tensor {
    throw base::DataError("a sample of rank 2 cannot be read");
  };
  const auto fit = [](TestedRun& run) { run->fit(); };
  EXPECT_THAT([&] { with_every_strategy(fails, fit); },
              ThrowsMessage<base::DataError>(HasSubstr("rank 2")));
}

}  // namespace
}  // namespace paceline::train
