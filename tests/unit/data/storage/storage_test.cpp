#include "paceline/data/storage/storage.h"

#include "paceline/base/error.h"
#include "support/data/fake_storage.h"
#include "support/temp_folder.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::data {
namespace {

using paceline::test::FakeStorage;
using paceline::test::TempFolder;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

TEST(Storage, TellsRemotePathsFromThoseOfThisMachine) {
  EXPECT_EQ(remote_scheme("s3://bucket/x"), "s3");
  EXPECT_EQ(remote_scheme("https://host/x"), "https");
  EXPECT_EQ(remote_scheme("hf:owner/name"), "hf");
  EXPECT_EQ(remote_scheme("/data/x"), "");
  EXPECT_EQ(remote_scheme("file:///data/x"), "");
  EXPECT_EQ(remote_scheme("data:x"), "");
  EXPECT_TRUE(is_remote("hf:owner/name"));
  EXPECT_FALSE(is_remote("file:///data/x"));
  EXPECT_EQ(without_file_scheme("file:///data/x"), "/data/x");
  EXPECT_EQ(without_file_scheme("s3://data/x"), "s3://data/x");
}

TEST(Storage, KnowsTheFilesOfThisMachine) {
  const TempFolder folder;
  folder.write("b.txt", "content");
  folder.write("a/inner", "");
  const auto storage = local_storage();
  const std::string root = "file://" + folder.path().string();

  const auto entries = storage->list(root);
  ASSERT_EQ(entries.size(), 2u);
  EXPECT_EQ(entries[0].name, "a");
  EXPECT_TRUE(entries[0].facts.is_folder);
  EXPECT_EQ(entries[1].name, "b.txt");
  EXPECT_FALSE(entries[1].facts.is_folder);
  EXPECT_EQ(entries[1].facts.size, 7u);
  EXPECT_EQ(storage->facts(root + "/b.txt")->changed, entries[1].facts.changed);
  EXPECT_TRUE(storage->facts(root)->is_folder);
  EXPECT_EQ(storage->facts(root + "/c"), std::nullopt);
  EXPECT_EQ(storage->open(root + "/b.txt")->size(), 7u);
  EXPECT_THAT([&] { storage->list(root + "/c"); },
              ThrowsMessage<base::DataError>(HasSubstr("/c: cannot list: No such file")));
}

TEST(Storage, LooksAtManyFilesInTheirOrder) {
  const auto storage = std::make_shared<FakeStorage>();
  std::vector<std::filesystem::path> paths = {"s3://b/absent"};
  for (std::size_t i = 0; i < 100; ++i) {
    paths.emplace_back(fmt::format("s3://b/{}", i));
    storage->files[paths.back()] = std::string(i, 'x');
  }
  const auto facts = facts_of_all(*storage, paths);
  ASSERT_EQ(facts.size(), 101u);
  EXPECT_EQ(facts[0], std::nullopt);
  for (std::size_t i = 0; i < 100; ++i) EXPECT_EQ(facts[i + 1]->size, i);
  EXPECT_EQ(storage->num_facts, 101);
}

TEST(Storage, AGiantIsNotReadAsText) {
  const TempFolder folder;
  const auto path = folder.write("a", "text");
  const auto storage = local_storage();
  EXPECT_EQ(read_text(*storage, path.string()), "text");
  std::filesystem::resize_file(path, std::uintmax_t{1} << 40);  // sparse
  EXPECT_THAT([&] { read_text(*storage, path.string()); },
              ThrowsMessage<base::DataError>(HasSubstr("1099511627776 bytes")));
}

TEST(Storage, WhatCannotBeLookedAtIsAnError) {
  const TempFolder folder;
  std::filesystem::create_symlink("loop", folder.path() / "loop");
  std::filesystem::create_symlink("nowhere", folder.path() / "broken");
  const auto storage = local_storage();
  EXPECT_EQ(storage->facts((folder.path() / "broken").string()), std::nullopt);
  EXPECT_THAT([&] { storage->facts((folder.path() / "loop").string()); },
              ThrowsMessage<base::DataError>(HasSubstr("loop: cannot be looked at")));
  EXPECT_THAT([&] { storage->list(folder.path().string()); },
              ThrowsMessage<base::DataError>(HasSubstr("loop: cannot be looked at")));
}

}  // namespace
}  // namespace paceline::data
