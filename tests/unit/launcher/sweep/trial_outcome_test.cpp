#include "paceline/launcher/sweep/trial_outcome.h"

#include "paceline/base/error.h"
#include "paceline/base/file.h"

#include <gmock/gmock.h>

namespace paceline::launcher {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

std::string summary_text(const std::string& ended_by) {
  return R"({"ended_by": ")" + ended_by +
         R"(", "steps": 10, "samples": 120, "elapsed_s": 3.5,
             "speed": {"steps": 9, "images_per_s": 600.0, "data_wait_share": 0.1},
             "metrics": {"val/top1": 0.5, "val/loss": 1.25, "val/odd": "NaN"}})";
}

TEST(TrialOutcomeTest, IsReadFromASummary) {
  const TrialOutcome outcome = read_outcome(summary_text("duration"), 0);
  EXPECT_TRUE(outcome.is_complete);
  EXPECT_EQ(outcome.metrics.at("val/top1"), 0.5);
  EXPECT_EQ(outcome.metrics.count("val/odd"), 0);
  EXPECT_EQ(outcome.elapsed_s, 3.5);
  EXPECT_NEAR(*outcome.step_ms, 20, 1e-9) << "12 images a step at 600 images a second";
  EXPECT_FALSE(read_outcome(summary_text("signal"), 0).is_complete);
  EXPECT_THROW(read_outcome("{}", 0), base::DataError);
}

TEST(TrialOutcomeTest, OfPhasesTheLastCountsWhenAllAreThere) {
  const std::string one =
      R"({"phases": [{"name": "a", "summary": )" + summary_text("duration") + "}";
  EXPECT_FALSE(read_outcome(one + "]}", 2).is_complete);
  const TrialOutcome both =
      read_outcome(one + R"(, {"name": "b", "summary": )" + summary_text("stop_when") + "}]}", 2);
  EXPECT_TRUE(both.is_complete);
  EXPECT_EQ(both.elapsed_s, 7);
}

TEST(TrialOutcomeTest, ATrialWithoutTheMetricHasFailed) {
  const TrialOutcome outcome = read_outcome(summary_text("duration"), 0);
  TrialRecord record{.metrics = {0.25}, .step_ms = 1.0, .exit_code = 6, .error = "once"};
  take_outcome(outcome, {.metric = "val/top1"}, record);
  EXPECT_THAT(record.metrics, testing::ElementsAre(0.25, 0.5));
  EXPECT_EQ(record.exit_code, 0);
  EXPECT_EQ(record.error, "");
  TrialRecord other;
  take_outcome(outcome, {.metric = "val/top5"}, other);
  EXPECT_TRUE(other.has_failed);
  EXPECT_EQ(other.error, "the run has no metric val/top5; it has val/loss, val/top1");
}

TEST(TrialOutcomeTest, AStartWithoutStepsTellsNoSpeed) {
  TrialRecord record{.step_ms = 1.0};
  TrialOutcome outcome;
  outcome.metrics["m"] = 1;
  take_outcome(outcome, {.metric = "m"}, record);
  EXPECT_EQ(record.step_ms, 1.0);
}

TEST(TrialOutcomeTest, ARunKnowsItsMonitor) {
  const base::TempDir folder;
  base::RealFileSystem files;
  EXPECT_EQ(outcome_of(folder.path(), 0), std::nullopt);
  base::write_file_atomically(files, folder.path() / "config.yaml",
                              "checkpoint: {monitor: val/top1, mode: max}\n");
  EXPECT_EQ(goal_of_run(folder.path()), (MetricGoal{"val/top1", false}));
  for (const char* name : {"2-b", "10-c"}) {
    files.create_directories(folder.path() / "phases" / name);
    base::write_file_atomically(
        files, folder.path() / "phases" / name / "config.yaml",
        "checkpoint: {monitor: val/" + std::string(name) + ", mode: min}\n");
  }
  EXPECT_EQ(goal_of_run(folder.path()), (MetricGoal{"val/10-c", true}));
}

}  // namespace
}  // namespace paceline::launcher
