#include "paceline/data/index_cache.h"

#include "support/data/cache_home.h"

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <thread>
#include <utility>
#include <vector>

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
  std::int64_t size() const { return 1; }
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

/// How many of eight processes of a machine that start at once made an index, and how many at once.
std::pair<int, int> makers_among_eight(bool is_settled) {
  const paceline::test::CacheHome home;
  std::atomic<bool> is_saved = false;
  std::atomic<int> num_made = 0;
  std::atomic<int> num_at_once = 0;
  std::atomic<int> most_at_once = 0;
  struct SharedIndex {
    bool settled;
    std::atomic<bool>& saved;
    bool is_settled() const { return settled; }
    std::int64_t size() const { return 1; }
    bool save(const fs::path&) const { return saved = true; }
  };
  std::vector<std::thread> processes;
  for (int i = 0; i < 8; ++i) {
    processes.emplace_back([&] {
      load_or_make(
          {"/data/index"},
          [&](const fs::path&) {
            return is_saved ? std::optional(SharedIndex{true, is_saved}) : std::nullopt;
          },
          [&] {
            ++num_made;
            const int now = ++num_at_once;
            int most = most_at_once;
            while (now > most && !most_at_once.compare_exchange_weak(most, now)) {
            }
            std::this_thread::sleep_for(std::chrono::milliseconds(300));
            --num_at_once;
            return SharedIndex{is_settled, is_saved};
          });
    });
  }
  for (std::thread& process : processes) process.join();
  return {num_made, most_at_once};
}

TEST(LoadOrMake, OfTheProcessesOfAMachineOneMakesIt) {
  EXPECT_EQ(makers_among_eight(/*is_settled=*/true), std::pair(1, 1));
}

TEST(LoadOrMake, WhereNothingIsSavedTheOthersDoNotQueueUp) {
  const auto [made, at_once] = makers_among_eight(/*is_settled=*/false);
  EXPECT_EQ(made, 8);
  EXPECT_GT(at_once, 1) << "all but the first side by side";
}

}  // namespace
}  // namespace paceline::data
