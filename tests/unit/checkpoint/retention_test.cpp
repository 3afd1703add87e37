#include "paceline/checkpoint/retention.h"

#include "paceline/base/file.h"
#include "paceline/checkpoint/directory.h"
#include "support/unsynced_file_system.h"

#include <cmath>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::checkpoint {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

Listed listed(std::int64_t step, std::optional<double> top1, const std::string& name = "val/top1") {
  Listed result{.path = checkpoint_name(step), .step = step, .monitored = std::nullopt};
  if (top1) result.monitored = Monitored{name, *top1};
  return result;
}

std::vector<std::int64_t> steps(const std::vector<Listed>& checkpoints) {
  std::vector<std::int64_t> result;
  for (const Listed& checkpoint : checkpoints) result.push_back(checkpoint.step);
  return result;
}

const std::vector<Listed> kFive{listed(1, 0.5), listed(2, 0.9), listed(3, 0.7), listed(4, 0.9),
                                listed(5, 0.6)};

TEST(BestOf, OrdersByValueThenAge) {
  EXPECT_THAT(steps(best_of(kFive, "val/top1", MonitorMode::kMax, 3)), ElementsAre(2, 4, 3));
  EXPECT_THAT(steps(best_of(kFive, "val/top1", MonitorMode::kMin, 2)), ElementsAre(1, 5));
  EXPECT_THAT(steps(best_of(kFive, "val/loss", MonitorMode::kMin, 2)), IsEmpty());
}

TEST(BestOf, NoNumberIsNeverBest) {
  const std::vector<Listed> checkpoints{listed(1, std::nan("")), listed(2, std::nullopt),
                                        listed(3, -INFINITY)};
  EXPECT_THAT(steps(best_of(checkpoints, "val/top1", MonitorMode::kMax, 5)), ElementsAre(3));
}

TEST(Superseded, KeepsTheLastAndTheBest) {
  const auto given_up = [](RetentionPolicy policy) {
    policy.monitor = "val/top1";
    return steps(superseded(kFive, policy));
  };
  EXPECT_THAT(given_up({.keep_last = 2, .keep_best = 0}), ElementsAre(1, 2, 3));
  EXPECT_THAT(given_up({.keep_last = 1, .keep_best = 1}), ElementsAre(1, 3, 4));
  EXPECT_THAT(given_up({.keep_last = 1, .keep_best = 1, .mode = MonitorMode::kMin}),
              ElementsAre(2, 3, 4));
  EXPECT_THAT(given_up({.keep_last = 9, .keep_best = 0}), IsEmpty());
  EXPECT_THAT(given_up({.keep_last = std::nullopt, .keep_best = 1}), IsEmpty());
}

TEST(Superseded, NeverTheNewest) {
  EXPECT_THAT(steps(superseded(kFive, {.keep_last = 0})), ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(superseded({}, {.keep_last = 1}), IsEmpty());
}

TEST(ApplyRetention, RemovesCompleteOnesAndLeavesDamagedOnes) {
  const base::TempDir dir;
  test::UnsyncedFileSystem files;
  for (int step = 1; step <= 3; ++step) {
    const auto path = dir.path() / checkpoint_name(step);
    files.create_directories(path);
    Manifest manifest;
    manifest.step = step;
    files.create(path / kManifestFile)->write(encode(manifest));
  }
  const auto damaged = dir.path() / checkpoint_name(0);
  files.create_directories(damaged);

  EXPECT_THAT(apply_retention(files, dir.path(), {.keep_last = 1}),
              ElementsAre(dir.path() / checkpoint_name(1), dir.path() / checkpoint_name(2)));
  EXPECT_TRUE(std::filesystem::exists(dir.path() / checkpoint_name(3)));
  EXPECT_FALSE(std::filesystem::exists(dir.path() / checkpoint_name(2)));
  EXPECT_TRUE(std::filesystem::exists(damaged));
  EXPECT_THAT(apply_retention(files, dir.path(), {.keep_last = 1}), IsEmpty());
}

}  // namespace
}  // namespace paceline::checkpoint
