#include "paceline/checkpoint/listing.h"

#include "paceline/checkpoint/directory.h"
#include "rank/checkpoint/saved_runs.h"
#include "support/unsynced_file_system.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

namespace paceline::checkpoint {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class ListingTest : public ::testing::Test {
 protected:
  fs::path save(std::int64_t step) {
    return save_model(dir_.path(), step, static_cast<double>(step), Layout::kReplicated, 1, files_);
  }
  void flip_last_bit(const fs::path& file) {
    std::string bytes = base::read_file(file);
    bytes.back() ^= 1;
    files_.create(file)->write(bytes);
  }

  base::TempDir dir_;
  test::UnsyncedFileSystem files_;
};

TEST_F(ListingTest, NothingThere) {
  EXPECT_TRUE(list_checkpoints(dir_.path() / "absent").complete.empty());
  EXPECT_EQ(find_latest(dir_.path() / "absent").path, std::nullopt);
  EXPECT_EQ(describe_newest(dir_.path()), "There is no earlier checkpoint");
}

TEST_F(ListingTest, OrdersByStepAndSkipsOtherNames) {
  save(90);
  save(100'000'000);  // nine digits: a longer name, and the newest
  save(5);
  fs::create_directory(dir_.path() / "step-00000200.tmp");
  fs::create_directory(dir_.path() / "notes");
  const Listing listing = list_checkpoints(dir_.path());
  ASSERT_EQ(listing.complete.size(), 3u);
  EXPECT_TRUE(listing.damaged.empty());
  EXPECT_EQ(listing.complete[0].step, 5);
  EXPECT_EQ(listing.complete[2].step, 100'000'000);
  EXPECT_EQ(listing.complete[1].monitored, (Monitored{"val/top1", 90}));
  EXPECT_EQ(find_latest(dir_.path()).path, dir_.path() / "step-100000000");
}

TEST_F(ListingTest, ADamagedNewestIsReportedAndSkipped) {
  const fs::path good = save(1);
  flip_last_bit(save(2) / "rank-0.safetensors");  // only its checksum tells
  fs::remove(save(3) / "manifest.json");
  const Latest latest = find_latest(dir_.path());
  EXPECT_EQ(latest.path, good);
  ASSERT_EQ(latest.skipped.size(), 2u);
  EXPECT_THAT(latest.skipped[0].reason, HasSubstr("rank-0.safetensors: damaged"));
  EXPECT_THAT(latest.skipped[1].reason, HasSubstr("no manifest.json"));
}

TEST_F(ListingTest, ADamagedBestIsNotTheBest) {
  save(1);
  save(2);
  flip_last_bit(save(3) / "rank-0.safetensors");
  EXPECT_EQ(best_whole(dir_.path(), "val/top1", MonitorMode::kMax)->step, 2);
  EXPECT_EQ(best_whole(dir_.path(), "val/top1", MonitorMode::kMin)->step, 1);
  EXPECT_FALSE(best_whole(dir_.path(), "val/top5", MonitorMode::kMax).has_value());
}

TEST_F(ListingTest, WhatCannotBeReadNowIsNotCalledDamaged) {
  save(1);
  const fs::path manifest = save(2) / "manifest.json";
  rlimit limit{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
  const rlimit few{64, limit.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &few), 0);
  std::vector<int> taken;
  for (int file = 0; (file = ::open("/dev/null", O_RDONLY | O_CLOEXEC)) >= 0;)
    taken.push_back(file);
  ::close(taken.back());  // one is left, for the folder itself
  taken.pop_back();
  std::string message;
  try {
    find_latest(dir_.path());
  } catch (const base::FileError& error) {
    message = error.what();
  }
  for (const int file : taken) ::close(file);
  setrlimit(RLIMIT_NOFILE, &limit);
  EXPECT_THAT(message, HasSubstr(manifest.filename().string()));
  EXPECT_THAT(message, HasSubstr("Too many open files"));
}

TEST_F(ListingTest, ARunDirectoryThatIsGoneIsNamed) {
  EXPECT_EQ(describe_newest(dir_.path() / "run" / "checkpoints"),
            describe_lost_run(dir_.path() / "run" / "checkpoints"));
  EXPECT_THAT(describe_newest(dir_.path() / "run" / "checkpoints"), HasSubstr("run is gone"));
}

TEST_F(ListingTest, ADamagedOlderOneIsNoNews) {
  fs::remove(save(1) / "manifest.json");
  const fs::path good = save(2);
  const Latest latest = find_latest(dir_.path());
  EXPECT_EQ(latest.path, good);
  EXPECT_TRUE(latest.skipped.empty());
}

}  // namespace
}  // namespace paceline::checkpoint
