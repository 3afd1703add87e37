#include "paceline/callbacks/copy_checkpoints.h"

#include "paceline/base/error.h"
#include "paceline/checkpoint/directory.h"
#include "support/faulty_file_system.h"
#include "support/temp_folder.h"

#include <cerrno>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::callbacks {
namespace {

namespace fs = std::filesystem;
using paceline::test::FaultyFileSystem;
using paceline::test::TempFolder;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

class CopyCheckpointsTest : public ::testing::Test {
 protected:
  /// Two files stand for a checkpoint.
  fs::path save(std::int64_t step) {
    const std::string name = "run/checkpoints/" + checkpoint::checkpoint_name(step);
    folder_.write(name + "/manifest.json", "manifest " + std::to_string(step));
    folder_.write(name + "/rank_0000.safetensors", std::string(1 << 16, 'x'));
    return folder_.path() / name;
  }
  fs::path target() const { return folder_.path() / "far/away"; }
  static std::set<std::string> names_in(const fs::path& folder) {
    std::set<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder))
      names.insert(entry.path().filename().string());
    return names;
  }

  TempFolder folder_;
  FaultyFileSystem files_;
};

TEST_F(CopyCheckpointsTest, CopiesEveryFile) {
  CopyCheckpoints callback({.to = target().string()});
  const fs::path saved = save(4);
  callback.on_saved(saved, files_);
  const fs::path copy = target() / saved.filename();
  EXPECT_EQ(base::read_file(copy / "manifest.json"), "manifest 4");
  EXPECT_EQ(base::read_file(copy / "rank_0000.safetensors"),
            base::read_file(saved / "rank_0000.safetensors"));
  callback.on_saved(saved, files_);
  EXPECT_EQ(names_in(target()).size(), 1u) << "a second copy takes the place of the first";
}

TEST_F(CopyCheckpointsTest, AFullDiskLeavesNoNameOfACheckpoint) {
  CopyCheckpoints callback({.to = target().string()});
  callback.on_saved(save(1), files_);
  const fs::path second = save(2);
  files_.fill_disk_after(5000);
  EXPECT_THROW(callback.on_saved(second, files_), base::FileError);
  EXPECT_FALSE(fs::exists(target() / second.filename()));
  EXPECT_TRUE(fs::exists(target() / checkpoint::checkpoint_name(1)));
  files_.free_disk();
  callback.on_saved(second, files_);
  EXPECT_TRUE(fs::exists(target() / second.filename())) << "the next try mends it";
}

TEST_F(CopyCheckpointsTest, RefusesTheRunsOwnFolder) {
  const fs::path saved = save(3);
  CopyCheckpoints callback({.to = saved.parent_path().string(), .keep = 1});
  EXPECT_THAT([&] { callback.on_saved(saved, files_); },
              ThrowsMessage<base::ConfigError>(HasSubstr("name another folder")));
  EXPECT_TRUE(fs::exists(saved / "manifest.json"));
}

}  // namespace
}  // namespace paceline::callbacks
