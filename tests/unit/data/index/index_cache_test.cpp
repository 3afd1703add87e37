#include "paceline/data/index/index_cache.h"

#include "paceline/base/error.h"
#include "paceline/base/file.h"
#include "paceline/base/interruption.h"
#include "support/data/cache_home.h"

#include <atomic>
#include <chrono>
#include <csignal>
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
  bool stable = true;
  std::vector<fs::path>* saved = nullptr;

  bool is_stable() const { return stable; }
  std::int64_t size() const { return 1; }
  bool save(const fs::path& file) const {
    saved->push_back(file);
    return file == "writable";
  }
};

TEST(LoadOrMake, TakesTheFirstThatLoads) {
  std::vector<fs::path> saved;
  const auto found = load_or_make(
      {"stale", "good"}, *local_storage(),
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
  for (const bool stable : {true, false}) {
    std::vector<fs::path> saved;
    const auto made = load_or_make(
        {"read-only", "writable", "unused"}, *local_storage(),
        [](const fs::path&) { return std::optional<NamedIndex>(); },
        [&] {
          return NamedIndex{"made", stable, &saved};
        });
    EXPECT_EQ(made.from, "made");
    if (stable) {
      EXPECT_THAT(saved, ElementsAre("read-only", "writable"));
    } else {
      EXPECT_TRUE(saved.empty());
    }
  }
}

/// How many of eight processes of a machine that start at once made an index, and how many at once.
std::pair<int, int> makers_among_eight(bool is_stable) {
  const paceline::test::CacheHome home;
  std::atomic<bool> is_saved = false;
  std::atomic<int> num_made = 0;
  std::atomic<int> num_at_once = 0;
  std::atomic<int> most_at_once = 0;
  struct SharedIndex {
    bool stable;
    std::atomic<bool>& saved;
    bool is_stable() const { return stable; }
    std::int64_t size() const { return 1; }
    bool save(const fs::path&) const { return saved = true; }
  };
  std::vector<std::thread> processes;
  for (int i = 0; i < 8; ++i) {
    processes.emplace_back([&] {
      load_or_make(
          {"/data/index"}, *local_storage(),
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
            return SharedIndex{is_stable, is_saved};
          });
    });
  }
  for (std::thread& process : processes) process.join();
  return {num_made, most_at_once};
}

TEST(LoadOrMake, OfTheProcessesOfAMachineOneMakesIt) {
  EXPECT_EQ(makers_among_eight(/*is_stable=*/true), std::pair(1, 1));
}

/// A storage of a program that is asked to stop.
class StoppedStorage final : public Storage {
 public:
  std::unique_ptr<const InputFile> open(const std::string&) const override { return nullptr; }
  std::optional<FileFacts> facts(const std::string&) const override { return std::nullopt; }
  std::vector<FileEntry> list(const std::string&) const override { return {}; }
  void check_interruption(std::string_view doing) const override {
    throw base::Interrupted(SIGTERM, doing);
  }
};

TEST(LoadOrMake, AStopEndsTheWaitForAnotherProcess) {
  const std::vector<fs::path> files{"/data/of-the-first"};
  const IndexTurn first(files, *local_storage());
  EXPECT_THROW(IndexTurn(files, StoppedStorage()), base::Interrupted);
}

/// Made at the number that is its text.
struct CountedIndex {
  int number = 0;
  std::int64_t size() const { return 1; }
  bool save(const fs::path& file) const { return save_index(file, std::to_string(number)); }
};

TEST(MakeOnce, TheProcessesOfAMachineShareOneAndTheNextStartMakesAnother) {
  const paceline::test::CacheHome home;
  const std::vector<fs::path> files{home.path() / "index"};
  std::atomic<int> num_made = 0;
  const auto open = [&] {
    return make_once(
        files, *local_storage(),
        [](const fs::path& file) -> std::optional<CountedIndex> {
          if (!fs::exists(file)) return std::nullopt;
          return CountedIndex{std::stoi(base::read_file(file))};
        },
        [&] {
          std::this_thread::sleep_for(std::chrono::milliseconds(300));
          return CountedIndex{++num_made};
        });
  };
  for (int start = 1; start <= 2; ++start) {
    std::vector<std::thread> processes;
    for (int i = 0; i < 8; ++i) processes.emplace_back([&] { EXPECT_EQ(open().number, start); });
    for (std::thread& process : processes) process.join();
    EXPECT_EQ(num_made, start);
  }
}

TEST(MakeOnce, WhatAnEarlierStartLeftIsNeverTaken) {
  const paceline::test::CacheHome home;
  const std::vector<fs::path> files{home.path() / "folder" / "index"};
  ASSERT_TRUE(save_index(files.front(), "7"));
  std::atomic<int> num_failed = 0;
  std::vector<std::thread> processes;
  for (int i = 0; i < 4; ++i) {
    processes.emplace_back([&] {
      try {
        make_once(
            files, *local_storage(),
            [](const fs::path& file) {
              return fs::exists(file) ? std::optional(CountedIndex{7}) : std::nullopt;
            },
            []() -> CountedIndex {
              std::this_thread::sleep_for(std::chrono::milliseconds(100));
              throw base::DataError("cannot be listed");
            });
      } catch (const base::DataError&) {
        ++num_failed;
      }
    });
  }
  for (std::thread& process : processes) process.join();
  EXPECT_EQ(num_failed, 4);
}

TEST(LoadOrMake, WhereNothingIsSavedTheOthersDoNotQueueUp) {
  const auto [made, at_once] = makers_among_eight(/*is_stable=*/false);
  EXPECT_EQ(made, 8);
  EXPECT_GT(at_once, 1) << "all but the first side by side";
}

}  // namespace
}  // namespace paceline::data
