#include "paceline/data/storage/cache_folder.h"

#include "support/data/cache_home.h"
#include "support/temp_folder.h"

#include <chrono>

#include <gtest/gtest.h>

namespace paceline::data {
namespace {

namespace fs = std::filesystem;

TEST(CacheFolder, IsTheUsers) {
  const test::CacheHome cache;
  EXPECT_EQ(user_cache(), cache.path() / "paceline");
}

TEST(CacheFolder, LosesOnlyWhatIsUnfinishedAndOld) {
  const test::TempFolder folder;
  base::RealFileSystem files;
  const auto long_ago = fs::file_time_type::clock::now() - std::chrono::hours(2);
  const fs::path entry = folder.write("entry", "x");
  const fs::path young = base::unfinished_path(entry);
  const fs::path old = base::unfinished_path(entry);
  for (const fs::path& file : {young, old}) files.create(file)->write("x");
  fs::last_write_time(entry, long_ago);
  fs::last_write_time(old, long_ago);
  remove_abandoned_files(folder.path(), files);
  EXPECT_TRUE(fs::exists(entry));
  EXPECT_TRUE(fs::exists(young));
  EXPECT_FALSE(fs::exists(old));
  EXPECT_THROW(remove_abandoned_files(folder.path() / "absent", files), base::FileError);
}

}  // namespace
}  // namespace paceline::data
