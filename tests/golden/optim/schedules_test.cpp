// Against torch.optim.lr_scheduler, timm and Hugging Face; see make_golden.py.

#include "paceline/optim/schedules.h"

#include "support/parity.h"

#include <fstream>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace paceline::optim {
namespace {

using config::Duration;
using config::TimeUnit;

constexpr Duration batches(double count) { return {count, TimeUnit::kBatch}; }

void expect_golden(const std::string& name, const Schedule& schedule) {
  const auto cases = nlohmann::json::parse(std::ifstream(PACELINE_GOLDEN_DIR "/schedules.json"));
  const std::vector<double> golden = cases.at(name);
  ASSERT_GE(golden.size(), 39U);
  for (std::size_t step = 0; step < golden.size(); ++step) {
    SCOPED_TRACE(step);
    paceline::test::expect_reference("schedule " + name, "factor on the learning rate",
                                     schedule.factor(static_cast<std::int64_t>(step)), golden[step],
                                     1e-12);
  }
}

TEST(ScheduleGolden, MomentumAsTorchOneCycle) {
  const auto cases = nlohmann::json::parse(std::ifstream(PACELINE_GOLDEN_DIR "/schedules.json"));
  const std::vector<double> golden = cases.at("one_cycle_momentum");
  ASSERT_EQ(golden.size(), 39U);
  const auto schedule =
      make(OneCycleConfig{.warmup = batches(13), .max_momentum = 0.95, .base_momentum = 0.8},
           {.total_steps = 40, .steps_per_epoch = 10, .samples_per_step = 1});
  for (std::size_t step = 0; step < golden.size(); ++step) {
    SCOPED_TRACE(step);
    paceline::test::expect_reference("schedule one_cycle", "momentum",
                                     schedule->momentum(static_cast<std::int64_t>(step)).value(),
                                     golden[step], 1e-12);
  }
}

constexpr RunLength kGoldenRun{.total_steps = 40, .steps_per_epoch = 10, .samples_per_step = 1};

TEST(ScheduleGolden, AsTorchLrScheduler) {
  const RunLength& run = kGoldenRun;
  const Duration warmup = batches(6);
  expect_golden("constant",
                *make(ConstantConfig{.warmup = warmup, .warmup_start_factor = 0.1}, run));
  expect_golden("cosine", *make(CosineConfig{}, run));
  expect_golden(
      "cosine_warmup",
      *make(CosineConfig{.warmup = warmup, .warmup_start_factor = 0.1, .final_lr_ratio = 0.05},
            run));
  expect_golden("step", *make(StepConfig{.every = batches(7), .gamma = 0.3}, run));
  expect_golden("step_warmup", *make(StepConfig{.warmup = warmup,
                                                .warmup_start_factor = 0.1,
                                                .every = batches(7),
                                                .gamma = 0.3},
                                     run));
  expect_golden(
      "multistep_warmup",
      *make(MultiStepConfig{.warmup = warmup,
                            .warmup_start_factor = 0.1,
                            .milestones = {batches(10), {2, TimeUnit::kEpoch}, batches(33)},
                            .gamma = 0.2},
            run));
  expect_golden(
      "one_cycle",
      *make(OneCycleConfig{.warmup = batches(13), .div_factor = 20, .final_div_factor = 500}, run));
  expect_golden("constant_warmup", *make(ConstantConfig{.warmup = warmup,
                                                        .warmup_start_factor = 0.1,
                                                        .warmup_shape = WarmupShape::kConstant},
                                         run));
  expect_golden("polynomial", *make(PolynomialConfig{.power = 0.9}, run));
  expect_golden(
      "polynomial_warmup",
      *make(PolynomialConfig{.warmup = warmup, .warmup_start_factor = 0.1, .power = 2}, run));
  expect_golden("linear", *make(LinearConfig{.final_lr_ratio = 0.2}, run));
  expect_golden("exponential", *make(ExponentialConfig{.every = batches(1), .gamma = 0.93}, run));
  expect_golden("exponential_warmup", *make(ExponentialConfig{.warmup = warmup,
                                                              .warmup_start_factor = 0.1,
                                                              .every = batches(1),
                                                              .gamma = 0.93},
                                            run));
  expect_golden(
      "restarts",
      *make(CosineConfig{.final_lr_ratio = 0.05, .cycle = batches(5), .cycle_mul = 2}, run));
}

TEST(ScheduleGolden, AsTimm) {
  expect_golden("timm_cycles", *make(CosineConfig{.final_lr_ratio = 0.01,
                                                  .cycle = Duration{0.25, TimeUnit::kFraction},
                                                  .cycle_decay = 0.5},
                                     kGoldenRun));
  expect_golden(
      "timm_k_decay",
      *make(CosineConfig{.warmup = batches(6), .warmup_start_factor = 0.1, .k_decay = 1.5},
            kGoldenRun));
}

TEST(ScheduleGolden, OnceAnEpochAsTorchvisionAndTimm) {
  const RunLength run{.total_steps = 40, .steps_per_epoch = 4, .samples_per_step = 1};
  CosineConfig config{.warmup = {2, TimeUnit::kEpoch}, .moves = RateMoves::kEpoch};
  expect_golden("epochs_torchvision", *make(config, run));
  config.warmup_start_factor = 0.02;
  config.final_lr_ratio = 0.01;
  config.from_start = true;
  expect_golden("epochs_timm", *make(config, run));
}

TEST(ScheduleGolden, AsHuggingFace) {
  InverseSqrtConfig config{.warmup = batches(6), .warmup_start_factor = 0};
  expect_golden("inverse_sqrt", *make(config, kGoldenRun));
  config.timescale = batches(11);
  expect_golden("inverse_sqrt_timescale", *make(config, kGoldenRun));
}

}  // namespace
}  // namespace paceline::optim
