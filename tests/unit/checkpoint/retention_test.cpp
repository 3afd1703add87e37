#include "paceline/checkpoint/retention.h"

#include "paceline/base/file.h"
#include "paceline/checkpoint/directory.h"
#include "rank/checkpoint/saved_runs.h"
#include "support/unsynced_file_system.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::checkpoint {
namespace {

namespace fs = std::filesystem;
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

TEST(KeptBy, IsTheLastAndTheBest) {
  const auto kept = [](RetentionPolicy policy) {
    policy.monitor = "val/top1";
    return steps(kept_by(policy, kFive));
  };
  EXPECT_THAT(kept({.keep_last = 2, .keep_best = 0}), ElementsAre(4, 5));
  EXPECT_THAT(kept({.keep_last = 1, .keep_best = 1}), ElementsAre(5, 2));
  EXPECT_THAT(kept({.keep_last = 1, .keep_best = 1, .mode = MonitorMode::kMin}), ElementsAre(5, 1));
  EXPECT_THAT(kept({.keep_last = 2, .keep_best = 2}), ElementsAre(4, 5, 2));
  EXPECT_THAT(kept({.keep_last = 9, .keep_best = 0}), ElementsAre(1, 2, 3, 4, 5));
  EXPECT_THAT(kept({.keep_last = std::nullopt}), ElementsAre(1, 2, 3, 4, 5));
}

TEST(KeptBy, AlwaysHoldsTheNewest) {
  EXPECT_THAT(steps(kept_by({.keep_last = 0}, kFive)), ElementsAre(5));
  EXPECT_THAT(kept_by({.keep_last = 1}, {}), IsEmpty());
}

class RetentionTest : public ::testing::Test {
 protected:
  void save(std::int64_t step, double top1 = 0) {
    save_model(dir_.path(), step, whole_model(1), top1, Layout::kReplicated, 1, files_);
  }
  fs::path path(std::int64_t step) const { return dir_.path() / checkpoint_name(step); }
  /// Only a checksum sees it.
  void damage(std::int64_t step) const {
    const fs::path file = path(step) / "rank-0.safetensors";
    std::string bytes = base::read_file(file);
    bytes.back() = static_cast<char>(bytes.back() ^ 1);
    base::RealFileSystem().create(file)->write(bytes);
  }
  std::vector<std::int64_t> there() const {
    std::vector<std::int64_t> found;
    for (const auto& entry : fs::directory_iterator(dir_.path()))
      found.push_back(*step_of_name(entry.path().filename().string()));
    std::sort(found.begin(), found.end());
    return found;
  }

  base::TempDir dir_;
  test::UnsyncedFileSystem files_;
};

TEST_F(RetentionTest, RemovesWhatThePolicyGivesUp) {
  for (const int step : {1, 2, 3}) save(step);
  Retention retention({.keep_last = 1}, std::nullopt);
  EXPECT_THAT(retention.apply(files_, dir_.path(), 3), ElementsAre(path(1), path(2)));
  EXPECT_THAT(retention.apply(files_, dir_.path(), 3), IsEmpty());
  EXPECT_THAT(there(), ElementsAre(3));
}

TEST_F(RetentionTest, LeavesAndDoesNotCountDamagedOnes) {
  for (const int step : {1, 2, 3, 4}) save(step);
  fs::resize_file(path(1) / kManifestFile, 10);
  damage(3);
  Retention retention({.keep_last = 2}, std::nullopt);
  EXPECT_THAT(retention.apply(files_, dir_.path(), 4), IsEmpty()) << "2 and 4 are the last two";
  EXPECT_THAT(there(), ElementsAre(1, 2, 3, 4));
}

TEST_F(RetentionTest, ADamagedBestIsNotTheBest) {
  save(1, 0.8);
  save(2, 0.9);
  save(3, 0.5);
  save(4, 0.6);
  damage(2);
  Retention retention({.keep_last = 1, .keep_best = 1, .monitor = "val/top1"}, std::nullopt);
  EXPECT_THAT(retention.apply(files_, dir_.path(), 4), ElementsAre(path(3)));
  EXPECT_THAT(there(), ElementsAre(1, 2, 4));
}

TEST_F(RetentionTest, KeepsTheOneJustSavedAndTheOneResumedFrom) {
  for (const int step : {10, 20, 30}) save(step);  // 30 is of another branch
  Retention retention({.keep_last = 1}, 20);
  save(25);
  EXPECT_THAT(retention.apply(files_, dir_.path(), 25), ElementsAre(path(10)));
  EXPECT_THAT(there(), ElementsAre(20, 25, 30));
  save(30);
  EXPECT_THAT(retention.apply(files_, dir_.path(), 30), ElementsAre(path(25)));
  EXPECT_THAT(there(), ElementsAre(20, 30));
}

}  // namespace
}  // namespace paceline::checkpoint
