#include "paceline/data/index/shard_list.h"

#include "paceline/base/error.h"
#include "support/temp_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::data {
namespace {

using paceline::test::TempFolder;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

TEST(ExpandBraces, DoesAsAShellDoes) {
  EXPECT_THAT(expand_braces("plain.tar"), ElementsAre("plain.tar"));
  EXPECT_THAT(expand_braces(""), ElementsAre(""));
  EXPECT_THAT(expand_braces("a-{008..011}.tar"),
              ElementsAre("a-008.tar", "a-009.tar", "a-010.tar", "a-011.tar"));
  EXPECT_THAT(expand_braces("{9..10}"), ElementsAre("9", "10"));
  EXPECT_THAT(expand_braces("{x,y}{1..2}"), ElementsAre("x1", "x2", "y1", "y2"));
  EXPECT_THAT(expand_braces("a{b,c{1,2},}d"), ElementsAre("abd", "ac1d", "ac2d", "ad"));
  EXPECT_THAT(expand_braces("{5..3}{a..c}"), ElementsAre("5..3a..c"));
}

TEST(ExpandBraces, RefusesOpenBracesAndFloods) {
  EXPECT_THAT([] { expand_braces("a{b"); },
              ThrowsMessage<base::DataError>(HasSubstr("not closed")));
  EXPECT_THAT([] { expand_braces("{0..4000000000}"); },
              ThrowsMessage<base::DataError>(HasSubstr("more than 1000000")));
  EXPECT_THROW(expand_braces("{0..9999}{0..9999}"), base::DataError);
}

TEST(ListShards, TakesBracesWildcardsAndFolders) {
  const TempFolder folder;
  for (const char* name : {"t-1.tar", "t-0.tar", "t-2.tar", "v/b.tar", "v/a.tar", "v/a.txt"}) {
    folder.write(name, "x");
  }
  const auto& root = folder.path();
  EXPECT_THAT(list_shards(root, "t-{2,0}.tar"), ElementsAre("t-2.tar", "t-0.tar"));
  EXPECT_THAT(list_shards(root, "t-?.tar"), ElementsAre("t-0.tar", "t-1.tar", "t-2.tar"));
  EXPECT_THAT(list_shards(root, "v"), ElementsAre("v/a.tar", "v/b.tar"));
  EXPECT_THAT(list_shards(root, "{v,t-[12].tar}"),
              ElementsAre("v/a.tar", "v/b.tar", "t-1.tar", "t-2.tar"));
  EXPECT_THAT(list_shards(root, (root / "t-0.tar").string()), ElementsAre(root / "t-0.tar"));
}

TEST(ListShards, WhatCannotBeLookedAtIsNotTakenForAbsent) {
  const TempFolder folder;
  std::filesystem::create_symlink("loop", folder.path() / "loop");
  for (const char* const shards : {"loop", "loop/*.tar"}) {
    EXPECT_THAT([&] { list_shards(folder.path(), shards, local_storage()); },
                ThrowsMessage<base::DataError>(HasSubstr("loop")))
        << shards;
  }
}

TEST(ListShards, NamesWhatIsNotThere) {
  const TempFolder folder;
  folder.write("t-0.tar", "x");
  EXPECT_THAT([&] { list_shards(folder.path(), "t-{0..1}.tar"); },
              ThrowsMessage<base::DataError>(HasSubstr("t-1.tar: no such shard")));
  EXPECT_THAT([&] { list_shards(folder.path(), "v-*.tar"); },
              ThrowsMessage<base::DataError>(HasSubstr("v-*.tar: no shards")));
}

}  // namespace
}  // namespace paceline::data
