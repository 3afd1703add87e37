#include "paceline/data/storage/byte_cache.h"

#include "paceline/base/log.h"
#include "support/temp_folder.h"

#include <chrono>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::data {
namespace {

namespace fs = std::filesystem;
using Bytes = std::vector<std::uint8_t>;

class ByteCacheTest : public ::testing::Test {
 protected:
  std::unique_ptr<ByteCache> open(std::uint64_t max_bytes = 64 << 20) {
    return std::make_unique<ByteCache>(folder_.path() / "cache", max_bytes);
  }

  static Bytes content_of(int number) { return Bytes(1000, static_cast<std::uint8_t>(number)); }
  static void put(ByteCache& cache, int number) {
    cache.put(fmt::format("key {}", number), content_of(number));
  }
  /// Whether it is there; fails the test if it is not what was put.
  static bool holds(const ByteCache& cache, int number) {
    Bytes bytes(1000);
    if (!cache.get(fmt::format("key {}", number), bytes)) return false;
    EXPECT_EQ(bytes, content_of(number));
    return true;
  }

  std::vector<fs::path> entries() const {
    std::vector<fs::path> found;
    for (const auto& entry : fs::recursive_directory_iterator(folder_.path())) {
      if (entry.is_regular_file()) found.push_back(entry.path());
    }
    return found;
  }
  std::uintmax_t total_bytes() const {
    std::uintmax_t total = 0;
    for (const fs::path& entry : entries()) total += fs::file_size(entry);
    return total;
  }

  test::TempFolder folder_;
  base::RealFileSystem files_;
};

TEST_F(ByteCacheTest, KeepsBytesFromRunToRun) {
  {
    const auto cache = open();
    EXPECT_FALSE(holds(*cache, 1));
    put(*cache, 1);
    put(*cache, 2);
    EXPECT_TRUE(holds(*cache, 1));
  }
  const auto cache = open();
  EXPECT_TRUE(holds(*cache, 1));
  EXPECT_TRUE(holds(*cache, 2));
  EXPECT_FALSE(holds(*cache, 3));
  Bytes of_other_size(999);
  EXPECT_FALSE(cache->get("key 1", of_other_size));
}

TEST_F(ByteCacheTest, GivesNothingThatIsDamaged) {
  const auto cache = open();
  put(*cache, 1);
  ASSERT_EQ(entries().size(), 1u);
  const std::string sound = base::read_file(entries()[0]);
  for (std::size_t at = 0; at < sound.size(); at += 7) {
    std::string damaged = sound;
    damaged[at] = static_cast<char>(damaged[at] ^ 4);
    files_.create(entries()[0])->write(damaged);
    EXPECT_FALSE(holds(*cache, 1)) << at;
  }
  for (const std::size_t size : {std::size_t{0}, std::size_t{10}, sound.size() - 1}) {
    files_.create(entries()[0])->write(sound.substr(0, size));
    EXPECT_FALSE(holds(*cache, 1)) << size;
  }
  put(*cache, 1);
  EXPECT_TRUE(holds(*cache, 1));
}

TEST_F(ByteCacheTest, AnEntryUnderAnothersNameIsDamagedToo) {
  const auto cache = open();
  put(*cache, 1);
  const fs::path first = entries()[0];
  fs::rename(first, folder_.path() / "kept");
  put(*cache, 2);
  for (const fs::path& entry : entries()) {
    if (entry != folder_.path() / "kept") fs::rename(folder_.path() / "kept", entry);
  }
  EXPECT_FALSE(holds(*cache, 2));
}

TEST_F(ByteCacheTest, StaysWithinItsBoundWhenSeveralFillIt) {
  constexpr std::uint64_t kMaxBytes = 64 * 20'000;
  std::vector<std::unique_ptr<ByteCache>> ranks;
  for (int rank = 0; rank < 4; ++rank) ranks.push_back(open(kMaxBytes));
  for (int i = 0; i < 4000; ++i) {
    put(*ranks[static_cast<std::size_t>(i % 4)], i);
    if (i % 100 > 0) continue;
    EXPECT_LE(total_bytes(), kMaxBytes) << i;
  }
  EXPECT_GE(total_bytes(), kMaxBytes / 2);
  EXPECT_FALSE(holds(*ranks[0], 0));
  EXPECT_TRUE(holds(*ranks[0], 3999));
}

TEST_F(ByteCacheTest, RemovesFirstWhatWasNotUsedForLongest) {
  const auto cache = open(64 * 20'000);
  for (int i = 0; i < 50; ++i) put(*cache, i);
  int num_kept = 0;
  for (int i = 50; i < 3000; ++i) {
    put(*cache, i);
    if (i % 10 == 0) {
      for (int used = 0; used < 50; ++used) num_kept += holds(*cache, used) ? 1 : 0;
    }
  }
  EXPECT_EQ(num_kept, 50 * 295);
}

TEST_F(ByteCacheTest, DoesNotKeepWhatWouldPushAllElseOut) {
  const auto cache = open(64 * 3000);
  put(*cache, 1);
  EXPECT_TRUE(entries().empty());
}

TEST_F(ByteCacheTest, TellsWhichBoundKeepsEntriesOfASize) {
  const std::uint64_t least = ByteCache::least_room_for(1000);
  const auto too_small = open(least - 64);
  put(*too_small, 1);
  EXPECT_FALSE(holds(*too_small, 1));
  const auto enough = open(least);
  put(*enough, 1);
  EXPECT_TRUE(holds(*enough, 1));
}

TEST_F(ByteCacheTest, RemovesWhatADeadProcessLeft) {
  const auto cache = open(64 * 100'000);
  put(*cache, 1);
  const fs::path entry = entries()[0];
  const fs::path abandoned = base::unfinished_path(entry);
  const fs::path written = base::unfinished_path(entry);
  for (const fs::path& file : {abandoned, written}) files_.create(file)->write("x");
  fs::last_write_time(abandoned, fs::file_time_type::clock::now() - std::chrono::hours(2));
  const auto other = open(64 * 100'000);
  for (int i = 0; i < 500; ++i) put(*other, i);
  EXPECT_FALSE(fs::exists(abandoned));
  EXPECT_TRUE(fs::exists(written));
}

TEST_F(ByteCacheTest, SaysOnceThatItCannotBeWritten) {
  const fs::path folder = folder_.write("a file", "");
  ByteCache cache(folder, 64 << 20);
  std::vector<std::string> lines;
  const base::LogRedirection log(
      [&](base::LogLevel, std::string_view line) { lines.emplace_back(line); });
  for (int i = 0; i < 10; ++i) put(cache, i);
  EXPECT_FALSE(holds(cache, 1));
  EXPECT_THAT(lines, ::testing::ElementsAre(::testing::HasSubstr("a file keeps nothing any more")));
}

}  // namespace
}  // namespace paceline::data
