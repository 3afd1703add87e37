#include "paceline/base/file_status.h"

#include <cerrno>
#include <string>
#include <tuple>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::base {
namespace {

namespace fs = std::filesystem;

using ::testing::HasSubstr;

TEST(LiesIn, FollowsLinksAndRelativePaths) {
  const TempDir dir;
  std::filesystem::create_directories(dir.path() / "a/b");
  std::filesystem::create_directory_symlink(dir.path() / "a", dir.path() / "link");
  EXPECT_TRUE(lies_in(dir.path() / "a", dir.path() / "a"));
  EXPECT_TRUE(lies_in(dir.path() / "a/b/new", dir.path() / "link"));
  EXPECT_TRUE(lies_in("new", "."));
  EXPECT_FALSE(lies_in(dir.path() / "ab", dir.path() / "a"));
  EXPECT_FALSE(lies_in(dir.path(), dir.path() / "a"));
}

TEST(FileStatus, TellsWhatIsThereFromWhatNobodyKnows) {
  const TempDir folder;
  RealFileSystem files;
  files.create(folder.path() / "file")->close();
  const fs::path loop = folder.path() / "loop";
  fs::create_symlink(loop, loop);
  EXPECT_TRUE(file_exists(folder.path()));
  EXPECT_TRUE(folder_exists(folder.path()));
  EXPECT_TRUE(file_exists(folder.path() / "file"));
  EXPECT_FALSE(folder_exists(folder.path() / "file"));
  for (const fs::path& none : {folder.path() / "none", folder.path() / "file/below"}) {
    EXPECT_FALSE(file_exists(none)) << none;
    EXPECT_FALSE(folder_exists(none)) << none;
  }
  for (const fs::path& path : {loop, folder.path() / std::string(300, 'x')}) {
    EXPECT_THROW(file_exists(path), FileError) << path;
    EXPECT_THROW(folder_exists(path), FileError) << path;
    EXPECT_THROW(create_durable_directories(files, path / "below"), FileError) << path;
  }
}

TEST(FileStatus, SaysWhatTheStandardLibraryThrows) {
  const std::string path = "/" + std::string(300, 'x');
  try {
    std::ignore = fs::exists(path);
    FAIL();
  } catch (const fs::filesystem_error& thrown) {
    const FileError error = file_error_of(thrown);
    EXPECT_EQ(error.path(), path);
    EXPECT_EQ(error.error_number(), ENAMETOOLONG);
    EXPECT_THAT(error.what(), HasSubstr("File name too long; shorten"));
    EXPECT_EQ(error.exit_code(), ExitCode::kCheckpoint);
  }
}

TEST(FileStatus, KnowsTemporaryNames) {
  EXPECT_TRUE(is_unfinished_name(unfinished_path("/x/summary.json").filename().string()));
  for (const char* other : {"summary.json", ".tmp-0123456789abcdef", "a.tmp-0123456789abcde",
                            "a.tmp-0123456789abcdeg", "a.tmp-0123456789abcdef0", "a.tmp"})
    EXPECT_FALSE(is_unfinished_name(other)) << other;
}

}  // namespace
}  // namespace paceline::base
