#include "paceline/dataset_tools/synth_folder.h"

#include "paceline/base/error.h"
#include "support/interrupted_file_system.h"
#include "support/temp_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::dataset_tools {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

/// Writes one file; counts its calls.
class SynthFolderTest : public ::testing::Test {
 protected:
  bool write(const std::string& marker, base::FileSystem& files) {
    return write_synth_folder(path_, marker, files, [&](const fs::path& folder) {
      ++num_calls_;
      files.create_directories(folder);
      const auto file = files.create(folder / "content");
      file->write("of " + marker);
      file->close();
      EXPECT_FALSE(fs::exists(path_)) << "it is seen before it is whole";
    });
  }

  const test::TempFolder folder_;
  const std::string path_ = (folder_.path() / "sets" / "set").string();
  test::UnsyncedFileSystem files_;
  int num_calls_ = 0;
};

TEST_F(SynthFolderTest, IsWrittenOnceForAMarker) {
  EXPECT_TRUE(write("one\n", files_));
  EXPECT_FALSE(write("one\n", files_));
  EXPECT_EQ(num_calls_, 1);
  EXPECT_EQ(base::read_file(fs::path(path_) / "content"), "of one\n");
}

TEST_F(SynthFolderTest, RefusesWhatElseIsThere) {
  write("one\n", files_);
  EXPECT_THAT([&] { write("two\n", files_); },
              ThrowsMessage<base::ConfigError>(HasSubstr("found:    one\n  expected: two\n")));
  fs::remove(fs::path(path_) / "paceline-synth.txt");
  EXPECT_THAT([&] { write("one\n", files_); },
              ThrowsMessage<base::ConfigError>(HasSubstr("not an empty folder")));
  EXPECT_EQ(num_calls_, 1);
}

TEST_F(SynthFolderTest, IsWholeOrNotThereAfterDeathAtAnyMoment) {
  test::InterruptedFileSystem counting;
  write("one\n", counting);
  for (int moment = 0; moment < counting.num_operations(); ++moment) {
    fs::remove_all(fs::path(path_).parent_path());
    test::InterruptedFileSystem dying(moment, test::InterruptedFileSystem::Fault::kDeath);
    EXPECT_ANY_THROW(write("one\n", dying)) << moment;
    const bool is_there = fs::exists(path_);
    EXPECT_EQ(write("one\n", files_), !is_there) << moment;
    EXPECT_EQ(base::read_file(fs::path(path_) / "content"), "of one\n");
  }
}

}  // namespace
}  // namespace paceline::dataset_tools
