#include "paceline/pretrained/hub_cache.h"

#include "support/temp_folder.h"

#include <fstream>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::pretrained {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;

const std::string kCacheCommit(40, 'a');
const std::string kNewerCommit(40, 'b');
const std::string kRepositoryFolder = "models--some--net";

// As huggingface_hub 2.4 lays a repository out.
TEST(HubCache, FindsWhatHuggingFaceHubHasLeft) {
  const test::TempFolder folder;
  folder.write(kRepositoryFolder + "/refs/main", kCacheCommit);
  folder.write(kRepositoryFolder + "/refs/refs/pr/1", kNewerCommit + "\n");
  folder.write(kRepositoryFolder + "/blobs/0123", "weights");
  const fs::path snapshot = folder.path() / kRepositoryFolder / "snapshots" / kCacheCommit;
  fs::create_directories(snapshot / "part");
  fs::create_symlink("../../../blobs/0123", snapshot / "part" / "model.safetensors");
  fs::create_symlink("../../blobs/none", snapshot / "config.json");
  const HubCache cache(folder.path(), "some/net");
  EXPECT_EQ(cache.commit_of("main"), kCacheCommit);
  EXPECT_EQ(cache.commit_of("refs/pr/1"), kNewerCommit);
  EXPECT_EQ(cache.commit_of(kNewerCommit), kNewerCommit);
  EXPECT_EQ(cache.commit_of("v1"), std::nullopt);
  EXPECT_EQ(cache.commit_of("refs"), std::nullopt);  // a folder
  EXPECT_EQ(cache.find(kCacheCommit, "part/model.safetensors"),
            snapshot / "part" / "model.safetensors");
  EXPECT_EQ(cache.find(kCacheCommit, "config.json"), std::nullopt);  // leads nowhere
  EXPECT_EQ(cache.find(kCacheCommit, "part"), std::nullopt);
  EXPECT_THAT(cache.files_of(kCacheCommit), ElementsAre("part/model.safetensors"));
  EXPECT_THAT(cache.files_of(kNewerCommit), ElementsAre());
}

TEST(HubCache, PlacesAreThoseOfHuggingFaceHub) {
  const HubCache cache("/cache", "some/net");
  EXPECT_EQ(cache.blob_of("01"), "/cache/models--some--net/blobs/01");
  EXPECT_EQ(cache.partial_of("01"), "/cache/models--some--net/blobs/01.incomplete");
  EXPECT_EQ(cache.lock_of("01"), "/cache/.locks/models--some--net/01.lock");
}

TEST(HubCache, LinksAreRelativeSoThatTheCacheCanBeMoved) {
  const test::TempFolder folder;
  base::RealFileSystem files;
  const HubCache cache(folder.path() / "old", "some/net");
  folder.write("old/" + kRepositoryFolder + "/blobs/0123", "weights");
  const fs::path path = cache.link(files, kCacheCommit, "part/model.safetensors", "0123");
  EXPECT_EQ(fs::read_symlink(path), "../../../blobs/0123");
  fs::rename(folder.path() / "old", folder.path() / "new");
  const auto moved =
      HubCache(folder.path() / "new", "some/net").find(kCacheCommit, "part/model.safetensors");
  ASSERT_TRUE(moved);
  EXPECT_EQ(base::read_file(fs::canonical(*moved)), "weights");
}

TEST(HubCache, NotesWhereABranchStands) {
  const test::TempFolder folder;
  base::RealFileSystem files;
  const HubCache cache(folder.path(), "some/net");
  cache.note_commit(files, "refs/pr/1", kCacheCommit);
  EXPECT_EQ(cache.commit_of("refs/pr/1"), kCacheCommit);
  cache.note_commit(files, "refs/pr/1", kNewerCommit);
  EXPECT_EQ(base::read_file(folder.path() / kRepositoryFolder / "refs/refs/pr/1"), kNewerCommit);
  cache.note_commit(files, kCacheCommit, kCacheCommit);
  EXPECT_FALSE(fs::exists(folder.path() / kRepositoryFolder / "refs" / kCacheCommit));
}

TEST(HubCache, CommitsAreWholeHashes) {
  EXPECT_TRUE(is_commit(std::string(40, 'f')));
  EXPECT_FALSE(is_commit(std::string(39, 'f')));
  EXPECT_FALSE(is_commit(std::string(40, 'g')));
  EXPECT_FALSE(is_commit("main"));
}

}  // namespace
}  // namespace paceline::pretrained
