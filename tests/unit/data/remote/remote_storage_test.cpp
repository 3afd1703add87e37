#include "paceline/data/remote/remote_storage.h"

#include "paceline/base/error.h"
#include "paceline/data/storage/cache_folder.h"
#include "support/data/fake_storage.h"
#include "support/temp_folder.h"

#include <csignal>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::data {
namespace {

using paceline::test::FakeStorage;
using paceline::test::TempFolder;

/// A storage that is shared with the test.
class Borrowed final : public Storage {
 public:
  explicit Borrowed(std::shared_ptr<const Storage> storage) : storage_(std::move(storage)) {}
  std::unique_ptr<const InputFile> open(const std::string& path) const override {
    return storage_->open(path);
  }
  std::optional<FileFacts> facts(const std::string& path) const override {
    return storage_->facts(path);
  }
  std::vector<FileEntry> list(const std::string& folder) const override {
    return storage_->list(folder);
  }

 private:
  std::shared_ptr<const Storage> storage_;
};

TEST(StorageByScheme, OpensASchemeOnceWhenItIsFirstNeeded) {
  const TempFolder folder;
  const std::string local = folder.write("a", "local").string();
  const auto remote = std::make_shared<FakeStorage>();
  remote->files["s3://b/x"] = "remote";
  std::vector<std::string> opened;
  const StorageByScheme storage({.connections = 5}, [&](std::string_view scheme) {
    opened.emplace_back(scheme);
    return std::make_unique<const Borrowed>(remote);
  });
  EXPECT_EQ(test::read_text(*storage.open(local)), "local");
  EXPECT_EQ(test::read_text(*storage.open("file://" + local)), "local");
  EXPECT_TRUE(opened.empty());
  EXPECT_EQ(test::read_text(*storage.open("s3://b/x")), "remote");
  EXPECT_EQ(storage.facts("s3://b/x")->size, 6u);
  EXPECT_EQ(storage.list("s3://b").size(), 1u);
  EXPECT_THAT(opened, ::testing::ElementsAre("s3"));
  EXPECT_EQ(storage.num_connections(), 5);
}

TEST(StorageByScheme, KeepsWholeFilesWhereItKeepsRanges) {
  EXPECT_EQ(StorageByScheme({.cache = "/fast/disk"}).cache_folder(), "/fast/disk");
  EXPECT_EQ(StorageByScheme(RemoteConfig{}).cache_folder(), user_cache());
}

TEST(StorageByScheme, CountsItsRetries) {
  const auto remote = std::make_shared<FakeStorage>();
  remote->files["s3://b/x"] = "remote";
  const StorageByScheme storage(
      {.retries = 1}, [&](std::string_view) { return std::make_unique<const Borrowed>(remote); });
  remote->fail_next(TransientError("busy"));
  EXPECT_EQ(test::read_text(*storage.open("s3://b/x")), "remote");
  EXPECT_EQ(storage.retry_counts().retries, 1);
}

TEST(StorageByScheme, AStopEndsPausesAndListsButNoRead) {
  const TempFolder folder;
  folder.write("a", "local");
  const auto remote = std::make_shared<FakeStorage>();
  remote->files["s3://b/x"] = "remote";
  base::Interruption interruption;
  const StorageByScheme storage(
      {.retries = 1}, [&](std::string_view) { return std::make_unique<const Borrowed>(remote); },
      &interruption);
  EXPECT_EQ(storage.list("s3://b").size(), 1u);
  interruption.request(SIGTERM);
  EXPECT_EQ(test::read_text(*storage.open("s3://b/x")), "remote") << "a step may need it";
  EXPECT_THROW(storage.list("s3://b"), base::Interrupted);
  EXPECT_THROW(storage.list(folder.path().string()), base::Interrupted);
  remote->fail_next(TransientError("busy"));
  EXPECT_THROW(storage.open("s3://b/x"), base::Interrupted);
}

TEST(StorageByScheme, NamesSchemesThatThereAreNot) {
  EXPECT_THAT([] { make_storage({})->facts("ftp://host/x"); },
              ::testing::ThrowsMessage<base::ConfigError>(::testing::HasSubstr("ftp://")));
}

}  // namespace
}  // namespace paceline::data
