#include "paceline/train/trainer.h"

#include "paceline/base/error.h"
#include "support/faulty_file_system.h"
#include "support/queued_device.h"
#include "support/run_ranks.h"
#include "support/temp_folder.h"
#include "unit/train/scripted_run.h"

#include <cerrno>
#include <cmath>
#include <csignal>
#include <limits>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::train {
namespace {

using paceline::test::Calls;
using paceline::test::kEventNames;
using paceline::test::QueuedDevice;
using paceline::test::run_ranks;
using paceline::test::ScriptedRun;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::ThrowsMessage;
using Reason = FitResult::Reason;

config::DurationList batches(double number) { return {{{number, config::TimeUnit::kBatch}}}; }

class TrainerTest : public ::testing::Test {
 protected:
  /// The steps after which an event came.
  std::vector<std::int64_t> steps_of(Event wanted) {
    std::vector<std::int64_t> steps;
    run_.watch = [&](Event event, const TrainState& state) -> std::optional<std::string> {
      if (event == wanted) steps.push_back(state.clock.step);
      return std::nullopt;
    };
    run_.fit();
    return steps;
  }

  std::unique_ptr<comm::Communicator> communicator_ = comm::make_fake_communicator(0, 1);
  ScriptedRun run_{*communicator_};
};

TEST_F(TrainerTest, EventsComeInTheirOrder) {
  run_.config.grad_accum_steps = 2;
  Calls calls;
  run_.watch = [&](Event event, const TrainState&) -> std::optional<std::string> {
    calls.emplace_back(kEventNames[static_cast<std::size_t>(event)]);
    return std::nullopt;
  };
  run_.fit();

  Calls step{"step_start"};
  for (int microbatch = 0; microbatch < 2; ++microbatch) {
    step.insert(step.end(), {"before_forward", "after_forward", "before_loss", "after_loss",
                             "before_backward", "after_backward"});
  }
  step.insert(step.end(),
              {"gradients_ready", "before_optimizer_step", "after_optimizer_step", "step_end"});
  Calls expected;
  const auto append = [&](const Calls& more) {
    expected.insert(expected.end(), more.begin(), more.end());
  };
  append({"fit_start", "epoch_start"});
  append(step);
  append({"safe_point"});
  append(step);
  append({"epoch_end", "eval_start", "eval_end", "evaluated", "safe_point", "epoch_start"});
  append(step);
  append({"eval_start", "eval_end", "evaluated", "safe_point", "fit_end"});
  EXPECT_EQ(calls, expected);
}

TEST_F(TrainerTest, EventsSeeTheStateOfTheirMoment) {
  run_.config.grad_accum_steps = 2;
  Calls seen;
  run_.watch = [&](Event event, const TrainState& state) -> std::optional<std::string> {
    if (event == Event::kStepStart || event == Event::kBeforeForward)
      seen.push_back(fmt::format("{} samples at step {}", state.batch.size, state.clock.step));
    if (event == Event::kStepEnd)
      seen.push_back(
          fmt::format("{} samples of loss {}", state.clock.samples, state.step_totals.mean_loss()));
    if (event == Event::kSafePoint) seen.push_back(state.is_stopping ? "stopping" : "going on");
    return std::nullopt;
  };
  run_.config.duration = batches(2);
  run_.fit();
  EXPECT_THAT(seen, ElementsAre("4 samples at step 0", "2 samples at step 0", "2 samples at step 0",
                                "4 samples of loss 2", "going on", "4 samples at step 1",
                                "2 samples at step 1", "2 samples at step 1", "8 samples of loss 2",
                                "stopping"));
}

TEST_F(TrainerTest, CountsWhatItSkippedByEpochAndRun) {
  ScriptedRun run(*communicator_, 8, 4, {5});  // once in each epoch of two steps
  run.config.duration = batches(4);
  run.fit();
  EXPECT_GE(run.state.skipped.of_run, 2) << "a stand-in may be the same sample";
  EXPECT_EQ(run.sink.steps.back().second.at("data/skipped"),
            static_cast<double>(run.state.skipped.of_run));
  run.config.duration = batches(5);
  run.fit();
  EXPECT_LT(run.state.skipped.of_epoch, run.state.skipped.of_run) << "each epoch starts anew";
}

TEST_F(TrainerTest, AnEpochThatSkipsTooMuchEndsTheRunBeforeItsStep) {
  ScriptedRun run(*communicator_, 8, 8, {2, 5});
  run.max_skipped = 1;
  EXPECT_THAT([&] { run.fit(); }, ::testing::ThrowsMessage<base::DataError>(::testing::AllOf(
                                      HasSubstr("samples of epoch 0"), HasSubstr(".jpg"),
                                      HasSubstr("data.max_skipped allows 1"))));
  EXPECT_EQ(run.state.clock.step, 0);
}

TEST_F(TrainerTest, RaggedBatchesWeighEachSampleTheSame) {
  ScriptedRun run(*communicator_, 11, 7);  // 7 samples, then 4
  run.config.grad_accum_steps = 3;
  run.config.duration = batches(2);
  run.fit();
  // A sample's loss is 2, so a microbatch gives 2 x its samples / the samples of the batch.
  EXPECT_THAT(run.calls,
              ElementsAre("microbatch first", "backward 0.8571", "microbatch", "backward 0.8571",
                          "microbatch last", "backward 0.2857", "finish", "step at 0.1",
                          "microbatch first", "backward 1.0000", "microbatch last",
                          "backward 1.0000", "finish", "step at 0.1"));
  EXPECT_THAT(run.task().first_positions, ElementsAre(0, 3, 6, 7, 9, 0))
      << "the last is the evaluation's";
}

TEST_F(TrainerTest, ADeviceThatQueuesItsWorkIsAskedTheSameAndGivesTheSame) {
  ScriptedRun now(*communicator_, 11, 7);
  ScriptedRun queued(*communicator_, 11, 7);
  QueuedDevice device;
  queued.device = &device;
  for (ScriptedRun* run : {&now, &queued}) {
    run->config.grad_accum_steps = 3;
    run->task().train_loss = [](const Batch& batch) {
      return static_cast<double>(batch.indices.front() + batch.size);
    };
    run->fit();
  }
  EXPECT_EQ(queued.calls, now.calls);
  EXPECT_EQ(queued.state.step_totals.loss_sum, now.state.step_totals.loss_sum);
  EXPECT_EQ(queued.state.last_eval, now.state.last_eval);
}

TEST_F(TrainerTest, ADeviceThatQueuesItsWorkNamesSamplesWhoseLossIsNotFinite) {
  QueuedDevice device;
  run_.device = &device;
  run_.task().train_loss = [](const Batch& batch) {
    return batch.indices.front() == 3 ? std::numeric_limits<double>::quiet_NaN() : 1.0;
  };
  run_.config.grad_accum_steps = 4;  // one sample each
  EXPECT_THAT([&] { run_.fit(); },
              ThrowsMessage<base::DivergedError>(HasSubstr("with samples 3. The step")));
}

TEST(TrainerOnRanks, AllRefuseTheStepInWhichOneMissesGradients) {
  run_ranks(2, [](comm::Communicator& ranks) {
    ScriptedRun run(ranks);
    if (ranks.rank() == 1) run.strategy().missing.names = {"head"};
    EXPECT_THAT([&] { run.fit(); },
                ThrowsMessage<base::ConfigError>(AllOf(HasSubstr("head"), HasSubstr("rank 1"))));
    EXPECT_THAT(run.calls.back(), HasSubstr("skipped"));
    EXPECT_EQ(run.state.clock.step, 0);
  });
}

TEST_F(TrainerTest, ARankWithoutSamplesTakesPartInTheStep) {
  const auto communicator = comm::make_fake_communicator(2, 3);
  ScriptedRun run(*communicator, 7, 6);  // two for each rank, then one for the first
  run.config.grad_accum_steps = 2;
  run.config.duration = batches(2);
  int forwards = 0;
  run.watch = [&](Event event, const TrainState&) -> std::optional<std::string> {
    forwards += event == Event::kBeforeForward;
    return std::nullopt;
  };
  run.fit();
  EXPECT_THAT(run.calls,
              ElementsAre("microbatch first", "backward 0.3333", "microbatch last",
                          "backward 0.3333", "finish", "step at 0.1", "microbatch first last",
                          "forward nothing", "backward nothing", "finish", "step at 0.1"));
  EXPECT_EQ(forwards, 2);
}

TEST_F(TrainerTest, ARankWithoutSamplesRunsACollectiveForwardOnNothing) {
  const auto communicator = comm::make_fake_communicator(2, 3);
  ScriptedRun run(*communicator, 7, 6);
  run.config.duration = batches(2);
  run.is_forward_collective = true;
  run.fit();
  EXPECT_THAT(run.calls,
              ElementsAre("microbatch first last", "backward 0.6667", "finish", "step at 0.1",
                          "microbatch first last", "backward 0.0000", "finish", "step at 0.1"));
}

TEST_F(TrainerTest, WaitingForTheNetworkIsTakenFromThePhaseThatWaited) {
  run_.config.grad_accum_steps = 2;
  const double hour = 3600;
  run_.strategy().exposed_in_forward_s = hour;
  run_.strategy().exposed_in_backward_s = 2 * hour;
  int num_steps = 0;
  run_.watch = [&](Event event, const TrainState& state) -> std::optional<std::string> {
    if (event != Event::kStepEnd) return std::nullopt;
    using metrics::Phase;
    EXPECT_NEAR(state.phases.seconds(Phase::kExposedCommunication), 6 * hour, 1e-6);
    EXPECT_NEAR(state.phases.seconds(Phase::kForward), -2 * hour, hour / 2);
    EXPECT_NEAR(state.phases.seconds(Phase::kBackward), -4 * hour, hour / 2);
    ++num_steps;
    return std::nullopt;
  };
  run_.fit();
  EXPECT_GT(num_steps, 1);
}

TEST_F(TrainerTest, TheScheduleScalesTheLearningRateOfEachStep) {
  run_.fit();
  std::erase_if(run_.calls, [](const std::string& call) { return !call.starts_with("step"); });
  EXPECT_THAT(run_.calls, ElementsAre("step at 0.1", "step at 0.1", "step at 0.05"));
}

TEST_F(TrainerTest, LimitsAndMeasuresGradients) {
  run_.config.grad_clip_norm = 0.5;
  run_.config.grad_clip_value = 0.35;
  run_.config.duration = batches(1);
  run_.fit();
  EXPECT_THAT(run_.calls, ElementsAre("microbatch first last", "backward 2.0000", "finish",
                                      "reduce grad_norm", "step at 0.1"));
  EXPECT_NEAR(run_.sink.steps.back().second.at("train/grad_norm"), 4.0, 1e-6)
      << "the norm before clipping";
  const at::Tensor limited = run_.strategy().gradients().front();
  EXPECT_NEAR(limited[0].item<double>(), 0.35, 1e-6) << "by value";
  EXPECT_NEAR(limited[1].item<double>(), 0.3, 1e-6) << "by norm";

  ScriptedRun measured(*communicator_);
  measured.config.duration = batches(4);
  measured.config.log_grad_norm = 2;
  measured.fit();
  std::vector<bool> has_norm;
  for (const auto& [at, values] : measured.sink.steps)
    has_norm.push_back(values.contains("train/grad_norm"));
  EXPECT_THAT(has_norm, ElementsAre(true, false, true, false)) << "before steps 0, 1, 2 and 3";
}

TEST_F(TrainerTest, AStepWhoseScaledGradientsOverflowIsSkipped) {
  run_.scale_loss({.init_scale = 8, .growth_interval = 1});
  run_.config.grad_clip_norm = 0.5;
  run_.overflows = [&] { return run_.state.clock.step == 1; };
  run_.fit();
  constexpr const char* kFinite = "reduce gradients are finite";
  EXPECT_THAT(run_.calls,
              ElementsAre("microbatch first last", "backward 16.0000", "finish", kFinite,
                          "reduce grad_norm", "step at 0.1",  // then the scale grows
                          "microbatch first last", "backward 32.0000", "finish", kFinite,
                          "reduce grad_norm", "step at 0.1, skipped",  //
                          "microbatch first last", "backward 16.0000", "finish", kFinite,
                          "reduce grad_norm", "step at 0.05"));
  EXPECT_EQ(run_.state.optimizer->num_steps(), 2);
  EXPECT_EQ(run_.state.clock.step, 3) << "the schedule counts the skipped step";

  std::vector<std::pair<double, double>> logged;
  std::vector<bool> has_norm;
  for (const auto& [at, values] : run_.sink.steps) {
    if (values.contains("train/grad_norm")) {
      EXPECT_NEAR(values.at("train/grad_norm"), 4.0, 1e-6) << "of what was unscaled";
    }
    logged.emplace_back(values.at("train/loss_scale"), values.at("train/skipped_steps"));
    has_norm.push_back(values.contains("train/grad_norm"));
  }
  EXPECT_THAT(logged, ElementsAre(std::pair(16.0, 0.0), std::pair(8.0, 1.0), std::pair(16.0, 1.0)));
  EXPECT_THAT(has_norm, ElementsAre(true, false, true));
}

TEST_F(TrainerTest, GradientsThatNoScaleMakesFiniteEndTheRun) {
  run_.scale_loss({.init_scale = 4});
  run_.config.duration = batches(100);
  run_.overflows = [] { return true; };
  EXPECT_THROW(run_.fit(), base::DivergedError);
  EXPECT_EQ(run_.state.clock.step, 12) << "the 13th half of 4 is below 1/1024";
  EXPECT_EQ(run_.state.optimizer->num_steps(), 0);
}

TEST_F(TrainerTest, ALossThatIsNotFiniteIsNoOverflow) {
  run_.scale_loss({});
  run_.task().train_loss = [](const Batch&) { return std::numeric_limits<double>::infinity(); };
  EXPECT_THROW(run_.fit(), base::DivergedError);
  EXPECT_EQ(run_.state.scaler->num_skipped(), 0);
}

TEST_F(TrainerTest, OnlyFp16NeedsAScaler) {
  run_.config.precision = Precision::kFloat16;
  EXPECT_THROW(run_.fit(), base::InternalError);
  run_.config.precision = Precision::kBFloat16;
  run_.fit();
  EXPECT_FALSE(run_.sink.steps.back().second.contains("train/loss_scale"));
}

TEST_F(TrainerTest, ForwardAndLossRunUnderAutocastAndBackwardDoesNot) {
  run_.config.precision = Precision::kBFloat16;
  run_.config.duration = batches(1);
  std::map<Event, bool> is_reduced;
  run_.watch = [&](Event event, const TrainState&) -> std::optional<std::string> {
    const at::Tensor matrix = at::ones({1, 1});
    is_reduced[event] = at::mm(matrix, matrix).scalar_type() == at::kBFloat16;
    return std::nullopt;
  };
  bool evaluates_reduced = false;
  run_.task().eval_loss = [&](const Batch& batch) {
    const at::Tensor matrix = at::ones({1, 1});
    evaluates_reduced = at::mm(matrix, matrix).scalar_type() == at::kBFloat16;
    EXPECT_EQ(batch.fields.at(kImages).scalar_type(), at::kFloat);
    return 1.0;
  };
  run_.fit();
  for (const auto& [event, reduced] : is_reduced) {
    const bool is_forward = event >= Event::kBeforeForward && event <= Event::kAfterLoss;
    EXPECT_EQ(reduced, is_forward) << kEventNames[static_cast<std::size_t>(event)];
  }
  EXPECT_TRUE(evaluates_reduced);
}

TEST_F(TrainerTest, EvaluatesWhenDueAndAtTheEnd) {
  run_.config.duration = batches(5);
  EXPECT_THAT(steps_of(Event::kEvaluated), ElementsAre(2, 4, 5));
  EXPECT_EQ(run_.state.last_eval_step, 5);

  ScriptedRun rarely(*communicator_);
  rarely.config.eval_every = {1000, config::TimeUnit::kEpoch};
  rarely.fit();
  EXPECT_EQ(rarely.sink.events.size(), 1u);
  EXPECT_EQ(rarely.sink.events[0].first.step, 3);
}

/// Has weights of its own from a step on, with which evaluations lose so much.
class Averaging final : public Algorithm {
 public:
  Averaging(std::string name, bool stands, std::int64_t from, double loss, ScriptedRun& run)
      : name_(std::move(name)), stands_(stands), from_(from), loss_(loss), run_(run) {}
  std::string_view name() const override { return name_; }
  AlgorithmTraits traits() const override {
    return {.events = {}, .has_weights = true, .stands_for_weights = stands_};
  }
  void apply(Event, TrainState&, const RunContext&) override {}
  bool has_weights() const override { return run_.state.clock.step >= from_; }
  void swap_weights(TrainState&) override {
    is_swapped_ = !is_swapped_;
    run_.task().eval_loss = [loss = is_swapped_ ? loss_ : 2.0](const Batch& batch) {
      return loss * static_cast<double>(batch.size);
    };
  }

 private:
  std::string name_;
  bool stands_;
  std::int64_t from_;
  double loss_;
  ScriptedRun& run_;
  bool is_swapped_ = false;
};

TEST_F(TrainerTest, EvaluatesWeightsThatStandForTheTrainedOnesInTheirPlace) {
  run_.config.eval_every = {1, config::TimeUnit::kBatch};
  run_.config.stop_when = "val/loss < 1";  // that of the average
  run_.config.duration = batches(5);
  bool with_another = false;
  run_.make_algorithms = [&] {
    std::vector<std::unique_ptr<Algorithm>> algorithms;
    algorithms.push_back(std::make_unique<Averaging>("ema", true, 3, 0.5, run_));
    if (with_another) algorithms.push_back(std::make_unique<Averaging>("swa", false, 2, 1.5, run_));
    return algorithms;
  };
  Calls measured;
  run_.watch = [&](Event event, const TrainState& state) -> std::optional<std::string> {
    if (event == Event::kEvalStart)
      measured.push_back(fmt::format("{} {}", state.clock.step, state.eval_weights));
    return std::nullopt;
  };
  EXPECT_EQ(run_.fit().reason, Reason::kCondition);
  EXPECT_THAT(measured, ElementsAre("1 ", "2 ", "3 ema")) << "one evaluation each";
  ASSERT_EQ(run_.sink.events.size(), 3u);
  EXPECT_EQ(run_.sink.events[1].second.at("val/loss"), 2);
  EXPECT_EQ(run_.sink.events[2].second.at("val/loss"), 0.5);
  EXPECT_EQ(run_.sink.events[2].second.count("val_ema/loss"), 0u);

  measured.clear();
  with_another = true;
  run_.state.clock.step = 0;
  run_.config.stop_when.reset();
  run_.fit();
  EXPECT_THAT(measured, ElementsAre("1 ", "2 ", "2 swa", "3 ema", "3 swa", "4 ema", "4 swa",
                                    "5 ema", "5 swa"));
  EXPECT_EQ(run_.state.last_eval.at("val/loss"), 0.5);
  EXPECT_EQ(run_.state.last_eval.at("val_swa/loss"), 1.5);
}

TEST_F(TrainerTest, WeightsThatAreTheTrainedOnesStillAreMeasuredBesideThoseThatStandForThem) {
  run_.make_algorithms = [&] {
    std::vector<std::unique_ptr<Algorithm>> algorithms;
    algorithms.push_back(std::make_unique<Averaging>("ema", true, 1, 0.5, run_));
    algorithms.push_back(std::make_unique<Averaging>("swa", false, 99, 1.5, run_));
    return algorithms;
  };
  run_.fit();
  EXPECT_EQ(run_.state.last_eval.at("val/loss"), 0.5);
  EXPECT_EQ(run_.state.last_eval.at("val_swa/loss"), 2);
}

TEST_F(TrainerTest, NeverEvaluatesWhenAskedNotTo) {
  run_.config.eval_every = std::nullopt;
  run_.state.is_eval_pending = true;  // of a start that still evaluated
  EXPECT_EQ(run_.fit().reason, Reason::kDuration);
  EXPECT_TRUE(run_.sink.events.empty());
  EXPECT_FALSE(run_.state.is_eval_pending);
  EXPECT_EQ(run_.state.clock.step, 3);
}

TEST_F(TrainerTest, ReportsHowFastItWas) {
  const FitResult result = run_.fit();
  EXPECT_EQ(result.speed.num_steps, 2);
  EXPECT_GT(result.speed.samples_per_s, 0);
}

TEST_F(TrainerTest, LogsEachStepUnderItsOwnNumber) {
  run_.task().train_loss = [&](const Batch& batch) {
    return static_cast<double>(batch.size) * (10.0 + static_cast<double>(run_.state.clock.step));
  };
  run_.fit();
  std::vector<std::pair<std::int64_t, double>> losses;
  for (const auto& [at, values] : run_.sink.steps)
    losses.emplace_back(at.step, values.at("train/loss"));
  EXPECT_THAT(losses, ElementsAre(std::pair(1, 10.0), std::pair(2, 11.0), std::pair(3, 12.0)));
}

TEST_F(TrainerTest, EndsByTheFirstOfItsDurations) {
  run_.config.duration.any_of = {{5, config::TimeUnit::kEpoch}, {17, config::TimeUnit::kSample}};
  const FitResult result = run_.fit();
  EXPECT_EQ(result.reason, Reason::kDuration);
  EXPECT_EQ(run_.state.clock.step, 5) << "17 samples in batches of 4, rounded up";
}

TEST_F(TrainerTest, EndsByTheWallClock) {
  run_.config.duration.any_of.push_back({0, config::TimeUnit::kSecond});
  EXPECT_EQ(run_.fit().reason, Reason::kWallClock);
  EXPECT_EQ(run_.state.clock.step, 1);

  EXPECT_EQ(run_.fit().reason, Reason::kWallClock);
  EXPECT_EQ(run_.state.clock.step, 1) << "a resumed run has no time left";
}

TEST_F(TrainerTest, EndsWhenAConditionHoldsButNotBeforeTheLeastDuration) {
  run_.config.duration = batches(20);
  run_.config.stop_when = "val/loss < 1.5";
  run_.task().eval_loss = [&](const Batch& batch) {
    return static_cast<double>(batch.size) * (run_.state.clock.step < 4 ? 2.0 : 1.0);
  };
  const FitResult result = run_.fit();
  EXPECT_EQ(result.reason, Reason::kCondition);
  EXPECT_EQ(result.text, "val/loss < 1.5 holds");
  EXPECT_EQ(run_.state.clock.step, 4);

  run_.calls.clear();
  EXPECT_EQ(run_.fit().reason, Reason::kCondition);
  EXPECT_THAT(run_.calls, IsEmpty()) << "a run that is resumed has ended, too";

  run_.config.min_duration = {7, config::TimeUnit::kBatch};
  run_.fit();
  EXPECT_EQ(run_.state.clock.step, 7);
}

TEST_F(TrainerTest, EndsWhenACallbackAsksButNotBeforeTheLeastDuration) {
  run_.config.duration = batches(20);
  run_.watch = [&](Event event, const TrainState& state) -> std::optional<std::string> {
    const bool asks = event == Event::kEvaluated && state.clock.step != 6;
    return asks ? std::optional<std::string>("it is enough") : std::nullopt;
  };
  const FitResult result = run_.fit();
  EXPECT_EQ(result.reason, Reason::kCallback);
  EXPECT_EQ(result.text, "it is enough");
  EXPECT_EQ(run_.state.clock.step, 2);

  run_.config.min_duration = {5, config::TimeUnit::kBatch};
  run_.fit();
  EXPECT_EQ(run_.state.clock.step, 8)
      << "what was asked too early is forgotten, and nobody asks at step 6";

  run_.watch = [&](Event event, const TrainState&) -> std::optional<std::string> {
    return event == Event::kFitStart ? std::optional<std::string>("it was enough") : std::nullopt;
  };
  EXPECT_EQ(run_.fit().text, "it was enough");
  EXPECT_EQ(run_.state.clock.step, 8);
}

TEST_F(TrainerTest, ASignalEndsTheRunAtTheNextSafePoint) {
  run_.watch = [&](Event event, const TrainState& state) -> std::optional<std::string> {
    if (event == Event::kBeforeForward && state.clock.step == 1) run_.signal = SIGTERM;
    return std::nullopt;
  };
  run_.config.eval_every = {3, config::TimeUnit::kBatch};
  const FitResult result = run_.fit();
  EXPECT_EQ(result.reason, Reason::kSignal);
  EXPECT_EQ(result.signal, SIGTERM);
  EXPECT_EQ(run_.state.clock.step, 2) << "the step at hand is finished";
  EXPECT_TRUE(run_.state.is_stopping);
}

TEST_F(TrainerTest, AStopBeforeABatchIsReadEndsAllRanksAfterTheLastWholeStep) {
  for (const bool is_asynchronous : {false, true}) {
    for (const std::int64_t position : {0, 1, 2}) {
      run_ranks(2, [&](comm::Communicator& communicator) {
        ScriptedRun run(communicator);
        QueuedDevice device;
        if (is_asynchronous) run.device = &device;
        if (communicator.rank() == 1) run.train_loader.stop_at(position, run.signal);
        int safe_points = 0;
        std::int64_t last_started = -1;
        run.watch = [&](Event event, const TrainState& state) -> std::optional<std::string> {
          if (event == Event::kSafePoint) ++safe_points;
          if (event == Event::kStepStart) last_started = state.clock.step;
          return std::nullopt;
        };
        const FitResult result = run.fit();
        EXPECT_EQ(result.reason, Reason::kSignal);
        EXPECT_EQ(result.signal, SIGTERM);
        EXPECT_EQ(run.state.clock.step, position);
        EXPECT_EQ(run.state.is_stopping, position > 0) << "so that it is saved";
        EXPECT_GE(safe_points, position);
        EXPECT_EQ(last_started, position - 1) << "a step without its batch does not start";
      });
    }
  }
}

TEST_F(TrainerTest, ASignalOnOneRankEndsAllRanksAtTheSameStep) {
  run_ranks(3, [](comm::Communicator& communicator) {
    ScriptedRun run(communicator);
    run.watch = [&](Event event, const TrainState& state) -> std::optional<std::string> {
      if (event == Event::kStepStart && state.clock.step == 1 && communicator.rank() == 1)
        run.signal = SIGINT;
      return std::nullopt;
    };
    EXPECT_EQ(run.fit().signal, SIGINT);
    EXPECT_EQ(run.state.clock.step, 2);
  });
}

TEST_F(TrainerTest, ASaveThatFailsInTheBackgroundEndsAllRanksAtTheNextStep) {
  const paceline::test::TempFolder folder;
  paceline::test::FaultyFileSystem files([](std::string_view, const std::filesystem::path& path) {
    return path.filename() == "manifest.json" ? ENOSPC : 0;
  });
  run_ranks(2, [&](comm::Communicator& communicator) {
    ScriptedRun run(communicator);
    CheckpointSaver saver({.every = config::Duration{2, config::TimeUnit::kBatch},
                           .keep_best = 0,
                           .monitor = "val/loss",
                           .mode = MonitorMode::kMin,
                           .dir = {}},
                          {folder.path(), {}, {}}, run.state.clock.lengths, files);
    run.config.duration = batches(8);
    run.watch = [&](Event event, const TrainState& state) -> std::optional<std::string> {
      const bool is_after_save = event == Event::kStepStart && state.clock.step == 2;
      while (is_after_save && communicator.rank() == 0 && !saver.has_failed()) {
        std::this_thread::yield();
      }
      return std::nullopt;
    };
    EXPECT_THAT([&] { run.fit(&saver); }, ::testing::ThrowsMessage<base::CheckpointError>(HasSubstr(
                                              "the checkpoint at step 2 was not saved: rank 0: ")));
    EXPECT_EQ(run.state.clock.step, 3);
  });
}

TEST_F(TrainerTest, AnInterruptedEvaluationIsMadeUpForAtItsStep) {
  run_.config.stop_when = "val/loss < 3";
  Calls calls;
  run_.watch = [&](Event event, const TrainState& state) -> std::optional<std::string> {
    calls.push_back(
        fmt::format("{} {}", kEventNames[static_cast<std::size_t>(event)], state.clock.step));
    if (event == Event::kEvalStart) run_.signal = SIGTERM;
    return std::nullopt;
  };
  EXPECT_EQ(run_.fit().reason, Reason::kSignal);
  EXPECT_TRUE(run_.state.is_eval_pending);
  EXPECT_EQ(calls.back(), "fit_end 2");

  calls.clear();
  run_.signal = 0;
  run_.watch = [&](Event event, const TrainState& state) -> std::optional<std::string> {
    calls.push_back(
        fmt::format("{} {}", kEventNames[static_cast<std::size_t>(event)], state.clock.step));
    return std::nullopt;
  };
  EXPECT_EQ(run_.fit().reason, Reason::kCondition);
  EXPECT_FALSE(run_.state.is_eval_pending);
  EXPECT_THAT(calls, ElementsAre("fit_start 2", "eval_start 2", "eval_end 2", "evaluated 2",
                                 "safe_point 2", "fit_end 2"));
}

/// Has an algorithm ask for new statistics after this step; events, forward passes between them.
void ask_for_statistics_after(std::int64_t step, ScriptedRun& run, Calls& calls) {
  run.watch = [&, step](Event event, const TrainState& state) -> std::optional<std::string> {
    if (event == Event::kStepEnd && state.clock.step == step)
      run.state.wants_fresh_statistics = true;
    std::vector<std::int64_t>& passes = run.task().first_positions;
    calls.push_back(fmt::format("{} {} after {} passes",
                                kEventNames[static_cast<std::size_t>(event)], state.clock.step,
                                passes.size()));
    passes.clear();
    return std::nullopt;
  };
  run.watched = {Event::kStepEnd, Event::kEvalStart, Event::kSafePoint, Event::kFitEnd};
}

TEST_F(TrainerTest, ComputesStatisticsAnewBeforeAnythingSeesThem) {
  std::vector<std::vector<std::int64_t>> seen;
  for (const std::int64_t asked_after : {0, 1, 2}) {
    ScriptedRun run(*communicator_);
    Calls calls;
    ask_for_statistics_after(asked_after, run, calls);
    const train::FitResult result = run.fit();
    EXPECT_EQ(result.reason, Reason::kDuration);
    if (asked_after == 2) {
      EXPECT_THAT(calls, ElementsAre("step_end 1 after 1 passes", "safe_point 1 after 0 passes",
                                     "step_end 2 after 1 passes", "eval_start 2 after 2 passes",
                                     "safe_point 2 after 1 passes", "step_end 3 after 1 passes",
                                     "eval_start 3 after 0 passes", "safe_point 3 after 1 passes",
                                     "fit_end 3 after 0 passes"));
    }
    EXPECT_FALSE(run.state.wants_fresh_statistics);
    EXPECT_EQ(run.state.clock.step, 3);
    EXPECT_EQ(run.state.clock.samples, 12) << "the pass is no training";
    seen.push_back(run.state.batch.indices);
  }
  EXPECT_EQ(seen[0], seen[1]) << "the third step's samples are the same";
  EXPECT_EQ(seen[0], seen[2]);
}

TEST_F(TrainerTest, StatisticsThatASignalLeftUndoneAreMadeUpFor) {
  Calls calls;
  ask_for_statistics_after(2, run_, calls);
  run_.train_loader.stop_at(1, run_.signal);
  run_.state.clock.step = 2;  // a loader that stops at a position would stop the steps, too
  run_.state.wants_fresh_statistics = true;
  EXPECT_EQ(run_.fit().reason, Reason::kSignal);
  EXPECT_TRUE(run_.state.wants_fresh_statistics);
  EXPECT_THAT(calls, ElementsAre("safe_point 2 after 1 passes", "fit_end 2 after 0 passes"));

  ScriptedRun resumed(*communicator_);
  calls.clear();
  ask_for_statistics_after(0, resumed, calls);
  resumed.state.clock.step = 3;
  resumed.state.wants_fresh_statistics = true;
  resumed.state.is_eval_pending = true;
  EXPECT_EQ(resumed.fit().reason, Reason::kDuration);
  EXPECT_FALSE(resumed.state.wants_fresh_statistics);
  EXPECT_THAT(calls, ElementsAre("eval_start 3 after 2 passes", "safe_point 3 after 1 passes",
                                 "fit_end 3 after 0 passes"));
}

TEST_F(TrainerTest, AnEvaluationWaitsForStatisticsThatASignalLeftUndone) {
  run_.watched = {Event::kStepEnd, Event::kEvalStart};
  Calls calls;
  run_.watch = [&](Event event, const TrainState& state) -> std::optional<std::string> {
    calls.emplace_back(kEventNames[static_cast<std::size_t>(event)]);
    if (event == Event::kStepEnd && state.clock.step == 2) {
      run_.state.wants_fresh_statistics = true;
      run_.signal = SIGTERM;
    }
    return std::nullopt;
  };
  EXPECT_EQ(run_.fit().reason, Reason::kSignal);
  EXPECT_TRUE(run_.state.wants_fresh_statistics);
  EXPECT_TRUE(run_.state.is_eval_pending);
  EXPECT_THAT(calls, ElementsAre("step_end", "step_end"));
}

TEST_F(TrainerTest, ContinuesAtTheClocksStep) {
  run_.config.duration = batches(4);
  std::vector<std::int64_t> whole;
  run_.watch = [&](Event event, const TrainState& state) -> std::optional<std::string> {
    if (event == Event::kStepStart && state.clock.step >= 3)
      whole.insert(whole.end(), state.batch.indices.begin(), state.batch.indices.end());
    return std::nullopt;
  };
  run_.fit();
  const std::vector<std::int64_t> fourth = std::exchange(whole, {});
  run_.state.clock.step = 3;
  run_.fit();
  EXPECT_EQ(whole, fourth);
  EXPECT_THAT(run_.first_steps, ElementsAre(1, 4));
  ASSERT_EQ(fourth.size(), 4u);

  run_.calls.clear();
  EXPECT_THAT(run_.fit().text, HasSubstr("complete already"));
  EXPECT_THAT(run_.calls, IsEmpty());
  EXPECT_THAT(run_.first_steps, SizeIs(2));
}

TEST_F(TrainerTest, NamesStepRankAndSamplesOfALossThatIsNotFinite) {
  run_ranks(2, [](comm::Communicator& communicator) {
    ScriptedRun run(communicator);
    run.config.grad_accum_steps = 2;
    std::string indices;
    run.task().train_loss = [&](const Batch& batch) {
      const bool is_bad =
          run.state.clock.step == 2 && communicator.rank() == 1 && batch.first_position % 2 == 1;
      if (is_bad) indices = fmt::format("{}", batch.indices.front());
      return is_bad ? std::numeric_limits<double>::infinity() : 1.0;
    };
    Calls events;
    run.watch = [&](Event event, const TrainState&) -> std::optional<std::string> {
      events.emplace_back(kEventNames[static_cast<std::size_t>(event)]);
      return std::nullopt;
    };
    try {
      run.fit();
      FAIL();
    } catch (const base::DivergedError& error) {
      EXPECT_THAT(error.what(),
                  HasSubstr("the loss of step 3 is not finite; on rank 1 with samples " + indices));
      EXPECT_THAT(error.what(), AllOf(Not(HasSubstr("rank 0")), HasSubstr("not applied")));
    }
    EXPECT_EQ(run.state.clock.step, 2);
    EXPECT_EQ(run.state.optimizer->num_steps(), 2);
    EXPECT_EQ(events.back(), "exception");
  });
}

}  // namespace
}  // namespace paceline::train
