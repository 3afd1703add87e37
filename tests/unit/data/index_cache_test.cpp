#include "paceline/data/index_cache.h"

#include <cstdlib>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::data {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(IndexFiles, LieBesideTheDataOrInTheUsersCache) {
  ::setenv("XDG_CACHE_HOME", "/cache", 1);
  const auto files = index_files("/data", "train/big");
  ::unsetenv("XDG_CACHE_HOME");
  ASSERT_EQ(files.size(), 2u);
  EXPECT_EQ(files[0], "/data/.paceline-train-big.index");
  EXPECT_THAT(files[1].string(), HasSubstr("/cache/paceline/"));
  EXPECT_THAT(files[1].string(), HasSubstr("-train-big.index"));
  EXPECT_NE(index_files("/other", "train")[1], index_files("/data", "train")[1]);
}

/// An index that says where it comes from.
struct NamedIndex {
  std::string from;
  bool settled = true;
  std::vector<fs::path>* saved = nullptr;

  bool is_settled() const { return settled; }
  bool save(const fs::path& file) const {
    saved->push_back(file);
    return file == "writable";
  }
};

TEST(LoadOrMake, TakesTheFirstThatLoads) {
  std::vector<fs::path> saved;
  const auto found = load_or_make(
      {"stale", "good"},
      [&](const fs::path& file) {
        return file == "good" ? std::optional(NamedIndex{"file"}) : std::nullopt;
      },
      [&] {
        return NamedIndex{"made", true, &saved};
      });
  EXPECT_EQ(found.from, "file");
  EXPECT_TRUE(saved.empty());
}

TEST(LoadOrMake, SavesASettledOneWhereItCan) {
  for (const bool settled : {true, false}) {
    std::vector<fs::path> saved;
    const auto made = load_or_make(
        {"read-only", "writable", "unused"},
        [](const fs::path&) { return std::optional<NamedIndex>(); },
        [&] {
          return NamedIndex{"made", settled, &saved};
        });
    EXPECT_EQ(made.from, "made");
    if (settled) {
      EXPECT_THAT(saved, ElementsAre("read-only", "writable"));
    } else {
      EXPECT_TRUE(saved.empty());
    }
  }
}

}  // namespace
}  // namespace paceline::data
