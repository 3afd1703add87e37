// Against torch.optim.lr_scheduler; see make_golden.py.

#include "paceline/optim/schedules.h"

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
    EXPECT_NEAR(schedule.factor(static_cast<std::int64_t>(step)), golden[step], 1e-12)
        << name << " at step " << step;
  }
}

TEST(ScheduleGolden, AsTorchLrScheduler) {
  const RunLength run{.total_steps = 40, .steps_per_epoch = 10, .samples_per_step = 1};
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
}

}  // namespace
}  // namespace paceline::optim
