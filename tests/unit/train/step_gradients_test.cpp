#include "paceline/train/step_gradients.h"

#include "paceline/comm/fake/fake_communicator.h"
#include "unit/train/scripted_run.h"

#include <algorithm>
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::train {
namespace {

using paceline::test::Calls;
using ::testing::ElementsAre;

/// Takes a pass of all ranks before the step's own, and says of it that the step is of no use.
class ExtraPass final : public Algorithm {
 public:
  explicit ExtraPass(Calls& calls) : calls_(calls) {}
  std::string_view name() const override { return "extra"; }
  AlgorithmTraits traits() const override { return {.events = {}, .takes_extra_passes = true}; }
  void apply(Event, TrainState&, const RunContext&) override {}
  std::optional<PassSum> extra_pass(const TrainState&) const override {
    return PassSum::kOfAllRanks;
  }
  at::Tensor after_extra_pass(TrainState& state) override {
    calls_.push_back(fmt::format("after the extra pass of {}", state.batch.size));
    return at::ones({}, at::kFloat);
  }

 private:
  Calls& calls_;
};

/// Leaves one sample of each microbatch, and says so in a field.
class OneSample final : public Algorithm {
 public:
  std::string_view name() const override { return "one"; }
  AlgorithmTraits traits() const override { return {.events = {}, .transforms_batches = true}; }
  void apply(Event, TrainState&, const RunContext&) override {}
  void transform(Batch& batch, TrainState&, const RunContext&) override {
    ++num_calls;
    keep_samples(batch, at::zeros({1}, at::kLong));
    batch.fields.set("targets", at::zeros({1}));
  }
  std::int64_t num_kept(std::int64_t, const Clock&) const override { return 1; }

  int num_calls = 0;
};

class StepGradientsTest : public ::testing::Test {
 protected:
  StepGradientsTest() {
    auto task = std::make_unique<test::ScriptedTask>();
    task_ = task.get();
    state_.task = std::move(task);
    state_.strategy = std::make_unique<test::RecordingStrategy>(calls_);
    config_.grad_accum_steps = 2;
    set_batch(4);
  }

  void set_batch(std::int64_t size) {
    state_.batch.size = size;
    state_.batch.global_size = std::max<std::int64_t>(size, 1);
    state_.batch.fields = {{"images", at::zeros({size, 3, 2, 2})},
                           {"labels", at::zeros({size}, at::kLong)}};
    state_.batch.indices.clear();
    for (std::int64_t i = 0; i < size; ++i) state_.batch.indices.push_back(10 + i);
  }

  Totals totals() {
    reduction_.add_batch(state_.batch.size, 0);
    reduction_.start({});
    reduction_.finish();
    reduction_.read();
    return reduction_.totals();
  }

  Calls calls_;
  test::ScriptedTask* task_ = nullptr;
  const std::unique_ptr<comm::Communicator> communicator_ = comm::make_fake_communicator(0, 1);
  const std::atomic<int> no_signal_{0};
  const RunContext run_{*communicator_, {}, 1, {}, no_signal_};
  TrainState state_;
  TrainerConfig config_;
  StepReduction reduction_{*communicator_, {.metrics = 1}};
};

TEST_F(StepGradientsTest, EachMicrobatchCountsAndTheLastIsReduced) {
  Engine engine({}, {});
  StepGradients gradients(state_, run_, engine, reduction_, config_, false);
  EXPECT_EQ(gradients.compute(), 4);
  EXPECT_THAT(calls_, ElementsAre("microbatch first", "backward 1.0000", "microbatch last",
                                  "backward 1.0000"));
  EXPECT_EQ(state_.batch.size, 4) << "the whole batch is there again";
  const Totals counted = totals();
  EXPECT_EQ(counted.loss_sum, 8);
  EXPECT_THAT(counted.sums, ElementsAre(4));
  gradients.finish();
  EXPECT_EQ(calls_.back(), "finish");
}

TEST_F(StepGradientsTest, AnExtraPassSeesTheWholeBatchAndIsNotCounted) {
  std::vector<std::unique_ptr<Algorithm>> algorithms;
  algorithms.push_back(std::make_unique<ExtraPass>(calls_));
  Engine engine(std::move(algorithms), {});
  StepGradients gradients(state_, run_, engine, reduction_, config_, false);
  gradients.compute();
  EXPECT_THAT(calls_, ElementsAre("microbatch first", "backward 1.0000", "microbatch last",
                                  "backward 1.0000", "finish", "after the extra pass of 4",
                                  "microbatch first", "backward 1.0000", "microbatch last",
                                  "backward 1.0000"));
  EXPECT_EQ(totals().loss_sum, 8);
  EXPECT_TRUE(reduction_.any_asks_to_skip());
}

// A loss of 2 for each of two samples that are left.
TEST_F(StepGradientsTest, AllPassesSeeWhatAnAlgorithmMadeOnceOfEachMicrobatch) {
  std::vector<std::unique_ptr<Algorithm>> algorithms;
  algorithms.push_back(std::make_unique<ExtraPass>(calls_));
  algorithms.push_back(std::make_unique<OneSample>());
  const auto& one = static_cast<const OneSample&>(*algorithms.back());
  Engine engine(std::move(algorithms), {});
  int num_seen = 0;
  task_->train_loss = [&](const Batch& batch) {
    num_seen += batch.fields.contains("targets") ? 1 : 0;
    return 2.0 * static_cast<double>(batch.size);
  };
  StepGradients gradients(state_, run_, engine, reduction_, config_, false);
  EXPECT_EQ(gradients.compute(), 2) << "what is left of four";
  EXPECT_EQ(one.num_calls, 2);
  EXPECT_EQ(num_seen, 4) << "two passes over two microbatches";
  EXPECT_THAT(calls_, ElementsAre("microbatch first", "backward 1.0000", "microbatch last",
                                  "backward 1.0000", "finish", "after the extra pass of 4",
                                  "microbatch first", "backward 1.0000", "microbatch last",
                                  "backward 1.0000"));
  EXPECT_EQ(state_.batch.size, 4);
  EXPECT_FALSE(state_.batch.fields.contains("targets"));
}

TEST_F(StepGradientsTest, NamesOnlyTheSamplesThatWereLeft) {
  std::vector<std::unique_ptr<Algorithm>> algorithms;
  algorithms.push_back(std::make_unique<OneSample>());
  Engine engine(std::move(algorithms), {});
  task_->train_loss = [](const Batch&) { return std::numeric_limits<double>::infinity(); };
  StepGradients gradients(state_, run_, engine, reduction_, config_, false);
  gradients.compute();
  EXPECT_THAT(gradients.not_finite_samples(), ElementsAre(10, 12));
}

TEST_F(StepGradientsTest, ARankWithoutSamplesTakesPart) {
  Engine engine({}, {});
  set_batch(0);
  StepGradients gradients(state_, run_, engine, reduction_, config_, false);
  gradients.compute();
  EXPECT_THAT(calls_, ::testing::Contains("forward nothing"));
  EXPECT_THAT(calls_, ::testing::Contains("backward nothing"));
  EXPECT_TRUE(task_->first_positions.empty());
  EXPECT_TRUE(gradients.not_finite_samples().empty());
}

TEST_F(StepGradientsTest, UnlessForwardPassesWaitForOtherRanks) {
  Engine engine({}, {});
  set_batch(0);
  StepGradients gradients(state_, run_, engine, reduction_, config_,
                          /*is_forward_collective=*/true);
  gradients.compute();
  EXPECT_FALSE(task_->first_positions.empty());
}

TEST_F(StepGradientsTest, NamesTheSamplesOfTheMicrobatchThatWentAstray) {
  Engine engine({}, {});
  task_->train_loss = [](const Batch& batch) {
    return batch.indices.front() == 12 ? std::numeric_limits<double>::infinity() : 1.0;
  };
  StepGradients gradients(state_, run_, engine, reduction_, config_, false);
  gradients.compute();
  EXPECT_THAT(gradients.not_finite_samples(), ElementsAre(12, 13));
}

}  // namespace
}  // namespace paceline::train
