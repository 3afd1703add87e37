#include "paceline/data/pack/shard_writer.h"

#include "paceline/base/error.h"
#include "support/faulty_file_system.h"
#include "support/temp_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::data {
namespace {

namespace fs = std::filesystem;
using paceline::test::FaultyFileSystem;
using paceline::test::TempFolder;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

TEST(ShardWriter, WritesAllOrNothing) {
  const TempFolder folder;
  FaultyFileSystem files;
  const fs::path path = folder.path() / "one.pack";
  const auto write = [&] {
    const std::vector<std::uint8_t> payload(1000);
    ShardWriter writer(files, path, 0, 0);
    writer.add({.payload = payload, .size = {1, 1}, .name = "a"});
    writer.finish();
  };
  files.fill_disk_after(500);
  EXPECT_THROW(write(), base::FileError);
  EXPECT_TRUE(fs::is_empty(folder.path())) << "nothing is left behind";
  files.free_disk();
  write();
  EXPECT_TRUE(fs::exists(path));
  EXPECT_EQ(std::distance(fs::directory_iterator(folder.path()), fs::directory_iterator()), 1);
}

TEST(ShardWriter, RefusesWhatItHasNoRoomFor) {
  const TempFolder folder;
  base::RealFileSystem files;
  ShardWriter writer(files, folder.path() / "one.pack", 0, 0);
  EXPECT_THAT(
      [&] {
        writer.add({.size = {1, 70000}, .name = "wide.png"});
      },
      ThrowsMessage<base::DataError>(AllOf(HasSubstr("wide.png"), HasSubstr("the width"))));
  EXPECT_THROW(writer.add({.label = -1, .name = "test.jpg"}), base::DataError);
}

}  // namespace
}  // namespace paceline::data
