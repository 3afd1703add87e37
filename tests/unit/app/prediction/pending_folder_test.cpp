#include "paceline/app/prediction/pending_folder.h"

#include "paceline/base/error.h"
#include "support/temp_folder.h"
#include "support/unsynced_file_system.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::app {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

class PendingFolderTest : public ::testing::Test {
 protected:
  const paceline::test::TempFolder folder_;
  const fs::path out_ = folder_.path() / "deep" / "out";
  paceline::test::UnsyncedFileSystem files_;
};

TEST_F(PendingFolderTest, AppearsWithAllThatIsInIt) {
  PendingFolder pending(files_, out_ / "");
  base::write_file_atomically(files_, pending.path() / "a.txt", "a");
  EXPECT_FALSE(fs::exists(out_));
  pending.publish();
  EXPECT_EQ(base::read_file(out_ / "a.txt"), "a");
  EXPECT_FALSE(fs::exists(pending.path()));
}

TEST_F(PendingFolderTest, LeavesNothingUnlessItIsPublished) {
  { const PendingFolder pending(files_, out_); }
  EXPECT_TRUE(fs::is_empty(out_.parent_path()));
}

TEST_F(PendingFolderTest, TakesNoOthersPlace) {
  fs::create_directories(out_);
  EXPECT_THAT([&] { PendingFolder(files_, out_); },
              ThrowsMessage<base::FileError>(HasSubstr("name another folder")));
}

}  // namespace
}  // namespace paceline::app
