#include "paceline/checkpoint/links.h"

#include "paceline/base/error.h"
#include "paceline/checkpoint/branch.h"
#include "paceline/checkpoint/directory.h"
#include "rank/checkpoint/saved_runs.h"
#include "support/faulty_file_system.h"
#include "support/unsynced_file_system.h"

#include <fstream>

#include <gtest/gtest.h>

namespace paceline::checkpoint {
namespace {

namespace fs = std::filesystem;

class LinksTest : public ::testing::Test {
 protected:
  void save(std::int64_t step, double value) {
    save_model(folder_, step, whole_model(0), value, Layout::kReplicated, 1, files_);
  }
  void point() { point_links(files_, folder_, "val/top1", MonitorMode::kMax); }
  /// What a link says; "" if there is none.
  std::string target(const char* link) const {
    std::error_code absent;
    return fs::read_symlink(folder_ / link, absent).string();
  }

  base::TempDir root_;
  fs::path folder_ = root_.path() / "checkpoints";
  test::UnsyncedFileSystem files_;
};

TEST_F(LinksTest, FollowTheLastAndTheBest) {
  fs::create_directories(folder_);
  point();
  EXPECT_EQ(target(kLastLink), "");
  save(10, 0.5);
  save(20, 0.25);
  point();
  EXPECT_EQ(target(kLastLink), "step-00000020");
  EXPECT_EQ(target(kBestLink), "step-00000010");
  save(30, 0.75);
  point();
  EXPECT_EQ(target(kBestLink), "step-00000030");
  fs::rename(folder_, root_.path() / "moved");
  EXPECT_TRUE(fs::exists(root_.path() / "moved/best/manifest.json"));
}

TEST_F(LinksTest, OfWhatIsGoneGoTooAndAreNoCheckpoints) {
  save(10, 0.5);
  point();
  EXPECT_EQ(list_checkpoints(folder_).complete.size(), 1u);
  remove_checkpoint(files_, folder_ / checkpoint_name(10));
  point();
  EXPECT_FALSE(fs::is_symlink(fs::symlink_status(folder_ / kLastLink)));
  EXPECT_FALSE(fs::is_symlink(fs::symlink_status(folder_ / kBestLink)));
}

TEST_F(LinksTest, PointNowhereWhileABranchBegins) {
  save(10, 0.5);
  save(20, 0.75);
  point();
  continue_from(files_, folder_ / checkpoint_name(10), folder_);
  EXPECT_EQ(target(kLastLink), "");
  EXPECT_EQ(target(kBestLink), "");
  point();
  EXPECT_EQ(target(kLastLink), "step-00000010");
}

TEST_F(LinksTest, TakeTheNameOfNothingElse) {
  save(10, 0.5);
  std::ofstream(folder_ / kLastLink) << "a user's own";
  EXPECT_THROW(point(), base::FileError);
  EXPECT_EQ(base::read_file(folder_ / kLastLink), "a user's own");
}

}  // namespace
}  // namespace paceline::checkpoint
