#include "paceline/data/storage/read_ahead.h"

#include "paceline/base/error.h"
#include "support/data/fake_storage.h"

#include <algorithm>
#include <chrono>
#include <numeric>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::data {
namespace {

using paceline::test::FakeStorage;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

constexpr std::uint64_t kPartBytes = 1000;

/// 100 parts of 1,000 bytes in each of two files; part i of file f is full of a byte of its own.
class ReadAheadTest : public ::testing::Test {
 protected:
  ReadAheadTest() {
    for (int file = 0; file < 2; ++file) {
      std::string& content = storage_->files[path_of(file)];
      for (int i = 0; i < 100; ++i) content.append(kPartBytes, static_cast<char>(file * 100 + i));
    }
  }

  static std::string path_of(std::uint64_t file) { return "s3://b/" + std::to_string(file); }

  std::unique_ptr<ReadAhead> make(const ReadAheadOptions& options) const {
    return std::make_unique<ReadAhead>(
        [this](std::uint64_t file) { return storage_->open_known(path_of(file), {}); }, options);
  }

  static ReadAheadPart part(std::int64_t key) {
    const auto number = static_cast<std::uint64_t>(key);
    return {key, number / 100, number % 100 * kPartBytes, kPartBytes};
  }
  static std::vector<ReadAheadPart> parts(const std::vector<std::int64_t>& keys) {
    std::vector<ReadAheadPart> all;
    for (const std::int64_t key : keys) all.push_back(part(key));
    return all;
  }

  /// Whether it was expected; fails the test if the bytes are wrong.
  static bool take(ReadAhead& ahead, std::int64_t key) {
    std::vector<std::uint8_t> bytes = {1, 2, 3};
    if (!ahead.take(key, bytes)) return false;
    EXPECT_EQ(bytes, std::vector<std::uint8_t>(kPartBytes, static_cast<std::uint8_t>(key))) << key;
    return true;
  }

  std::shared_ptr<FakeStorage> storage_ = std::make_shared<FakeStorage>();
};

constexpr ReadAheadOptions kApart{.connections = 4, .max_bytes = 1 << 20, .max_read = 1};

TEST_F(ReadAheadTest, GivesWhatWasExpectedOnce) {
  const auto ahead = make(kApart);
  ahead->expect(parts({5, 3, 150}));
  for (const std::int64_t key : {150, 5, 3}) EXPECT_TRUE(take(*ahead, key));
  EXPECT_FALSE(take(*ahead, 5));
  EXPECT_FALSE(take(*ahead, 4));
  EXPECT_EQ(storage_->num_reads, 3);
}

TEST_F(ReadAheadTest, FetchesOnceWhatIsExpectedTwice) {
  const auto ahead = make(kApart);
  ahead->expect(parts({7, 7}));
  ahead->expect(parts({7}));
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(take(*ahead, 7));
  EXPECT_FALSE(take(*ahead, 7));
  EXPECT_EQ(storage_->num_reads, 1);
}

TEST_F(ReadAheadTest, GivesOnceWhatIsShared) {
  const auto ahead = make(kApart);
  ReadAheadPart shared = part(7);
  shared.is_shared = true;
  ahead->expect(std::vector{shared, shared});
  ahead->expect(std::vector{shared});
  EXPECT_TRUE(take(*ahead, 7));
  EXPECT_FALSE(take(*ahead, 7));
}

TEST_F(ReadAheadTest, DropsAPartAndItsMemory) {
  const auto ahead = make({.connections = 4, .max_bytes = kPartBytes, .max_read = 1});
  for (const bool waits : {false, true}) {
    const int before = storage_->num_reads;
    ahead->expect(parts({2}));
    while (waits && storage_->num_reads == before) std::this_thread::yield();
    ahead->drop(2);
    ahead->drop(2);
    EXPECT_FALSE(take(*ahead, 2));
  }
  ahead->expect(parts({4}));
  while (storage_->num_reads < 3) std::this_thread::yield();  // without being asked for
  EXPECT_TRUE(take(*ahead, 4));
}

TEST_F(ReadAheadTest, KeepsSoManyReadsUnderWay) {
  storage_->latency = std::chrono::milliseconds(20);
  const auto ahead = make(kApart);
  std::vector<std::int64_t> keys(40);
  for (std::int64_t i = 0; i < 40; ++i) keys[static_cast<std::size_t>(i)] = 5 * i;
  ahead->expect(parts(keys));
  for (const std::int64_t key : keys) EXPECT_TRUE(take(*ahead, key));
  EXPECT_EQ(storage_->most_at_once, 4);
  EXPECT_EQ(storage_->num_reads, 40);
}

TEST_F(ReadAheadTest, JoinsNeighboursOfAFile) {
  const auto ahead = make(
      {.connections = 2, .max_bytes = 1 << 20, .max_gap = kPartBytes, .max_read = 5 * kPartBytes});
  // Read alone or with neighbours: 0-4 and 5, as five parts are the most; 10 and 12; 15; and 99
  // and 100, which are of two files.
  ahead->expect(parts({4, 3, 2, 1, 0, 5, 12, 10, 15, 99, 100}));
  for (const std::int64_t key : {0, 1, 2, 3, 4, 5, 10, 12, 15, 99, 100})
    EXPECT_TRUE(take(*ahead, key));
  // The fake reads each part by itself.
  EXPECT_EQ(storage_->num_reads, 11);
  EXPECT_EQ(storage_->num_known, 6);
}

TEST_F(ReadAheadTest, HoldsNoMoreThanItMay) {
  const auto ahead =
      make({.connections = 4, .max_bytes = 10 * kPartBytes, .max_gap = 0, .max_read = 1});
  std::vector<std::int64_t> keys(50);
  for (std::int64_t i = 0; i < 50; ++i) keys[static_cast<std::size_t>(i)] = 2 * i;
  ahead->expect(parts(keys));
  while (storage_->num_reads < 10) std::this_thread::yield();
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_EQ(storage_->num_reads, 10);
  EXPECT_TRUE(take(*ahead, 98));  // the last one comes before memory is free for it
  for (std::int64_t i = 0; i < 49; ++i) EXPECT_TRUE(take(*ahead, 2 * i));
}

TEST_F(ReadAheadTest, ForgetsWhatIsNotWantedAnyMore) {
  const auto ahead = make({.connections = 2, .max_bytes = 4 * kPartBytes, .max_read = 1});
  ahead->expect(parts({0, 2, 4, 6, 8, 10, 12}));
  while (storage_->num_reads < 4) std::this_thread::yield();
  ahead->forget();
  EXPECT_FALSE(take(*ahead, 0));
  EXPECT_FALSE(take(*ahead, 12));
  ahead->expect(parts({20, 22, 24, 26}));  // for which there is memory again
  for (const std::int64_t key : {20, 22, 24, 26}) EXPECT_TRUE(take(*ahead, key));
}

TEST_F(ReadAheadTest, ThrowsWhatTheReadThrew) {
  const auto ahead = make(kApart);
  storage_->fail_next(base::DataError("the disk of far away is gone"));
  ahead->expect(parts({1}));
  EXPECT_THAT([&] { take(*ahead, 1); }, ThrowsMessage<base::DataError>(HasSubstr("far away")));
  ahead->expect(parts({1}));
  EXPECT_TRUE(take(*ahead, 1));
}

TEST_F(ReadAheadTest, EndsWhileReadsAreUnderWay) {
  storage_->latency = std::chrono::milliseconds(5);
  const auto ahead = make(kApart);
  ahead->expect(parts({1, 5, 9, 13, 17, 21}));
}

TEST_F(ReadAheadTest, ServesManyThreadsWhileHintsComeAndGo) {
  const auto ahead = make(
      {.connections = 4, .max_bytes = 20 * kPartBytes, .max_gap = 0, .max_read = 3 * kPartBytes});
  std::atomic<int> num_taken = 0;
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&, thread] {
      for (int round = 0; round < 50; ++round) {
        std::vector<std::int64_t> keys;
        for (int i = 0; i < 10; ++i) keys.push_back((thread * 50 + round * 7 + i) % 200);
        ahead->expect(parts(keys));
        if (round % 10 == 9) ahead->forget();
        for (const std::int64_t key : keys) num_taken += take(*ahead, key) ? 1 : 0;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_GT(num_taken, 500);
}

TEST_F(ReadAheadTest, APartThatCannotBeReadTakesNoNeighbourWithIt) {
  storage_->disturb = [](const std::string&, std::uint64_t offset, std::span<std::uint8_t> bytes) {
    constexpr std::uint64_t kBad = 7 * kPartBytes;
    if (offset <= kBad && kBad < offset + bytes.size()) throw base::DataError("bad sector");
  };
  const auto ahead = make({.connections = 2});
  std::vector<std::int64_t> keys(36);
  std::iota(keys.begin(), keys.end(), 0);
  ahead->expect(parts(keys));
  for (const std::int64_t key : keys) {
    if (key == 7) {
      EXPECT_THAT([&] { take(*ahead, key); }, ThrowsMessage<base::DataError>(HasSubstr("bad")));
    } else {
      EXPECT_TRUE(take(*ahead, key)) << key;
    }
  }
}

TEST_F(ReadAheadTest, WaitsForSlowReadsIfItIsTo) {
  const auto ahead = make({.waits_for_slow_reads = true});
  EXPECT_TRUE(make({})->is_on());
  for (int i = 0; i < 1000; ++i) ahead->note_read(i % 2 == 0 ? 50e-6 : 5e-3);
  EXPECT_FALSE(ahead->is_on()) << "half of the reads come from memory";
  for (int i = 0; i < 20; ++i) ahead->note_read(5e-3);
  EXPECT_TRUE(ahead->is_on());
  for (int i = 0; i < 100; ++i) ahead->note_read(50e-6);
  EXPECT_TRUE(ahead->is_on()) << "its own reads are fast, so it stays";
}

TEST_F(ReadAheadTest, ScopesOfSlowReadsSwitchItOn) {
  const auto here = read_ahead_from(*storage_, "/folder", [](std::uint64_t) { return nullptr; });
  const auto far = read_ahead_from(*storage_, "s3://b", [](std::uint64_t) { return nullptr; });
  EXPECT_TRUE(far->is_on());
  for (int i = 0; i < 20; ++i) {
    EXPECT_FALSE(here->is_on() && i < 16);
    const TimedRead timed(*here);
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  EXPECT_TRUE(here->is_on());
}

TEST_F(ReadAheadTest, ReadsFilesOfUnknownSizeWhole) {
  const auto ahead = make({.connections = 2});
  ahead->expect(std::vector<ReadAheadPart>{{.key = 1, .file = 1, .is_whole_file = true}});
  std::vector<std::uint8_t> bytes;
  ASSERT_TRUE(ahead->take(1, bytes));
  EXPECT_EQ(bytes.size(), 100 * kPartBytes);
  EXPECT_EQ(bytes.back(), 199);
}

}  // namespace
}  // namespace paceline::data
