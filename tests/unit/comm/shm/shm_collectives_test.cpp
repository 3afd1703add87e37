#include "paceline/comm/shm/shm_collectives.h"

#include "paceline/base/error.h"

#include <atomic>
#include <exception>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::comm {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// Runs `body` with one thread for each rank of a group; what each threw, "" for nothing.
std::vector<std::string> errors_of(int world_size,
                                   const std::function<void(ShmCollectives&, int rank)>& body) {
  const std::size_t bytes = ShmCollectives::bytes_needed(world_size);
  SharedMemory made = SharedMemory::create(bytes);
  std::vector<SharedMemory> memories;
  for (int rank = 0; rank < world_size; ++rank) {
    memories.push_back(SharedMemory::open(made.name(), bytes));
    memories.back().mark_present(rank);
  }

  std::vector<std::string> errors(memories.size());
  std::vector<std::thread> threads;
  for (int rank = 0; rank < world_size; ++rank) {
    const auto index = static_cast<std::size_t>(rank);
    threads.emplace_back([&, index, rank] {
      try {
        ShmCollectives group(std::move(memories[index]), rank, world_size);
        body(group, rank);
      } catch (const std::exception& error) {
        errors[index] = error.what();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  return errors;
}

template <typename T>
std::vector<T> values_of(int rank, std::size_t numel) {
  std::vector<T> values;
  for (std::size_t i = 0; i < numel; ++i) {
    values.push_back(static_cast<T>((i * 7919 + static_cast<std::size_t>(rank) * 104729) % 1000) /
                     T{3});
  }
  return values;
}

template <typename T>
T combine(T a, T b, ReduceOp op) {
  return op == ReduceOp::kSum ? a + b : op == ReduceOp::kMin ? std::min(a, b) : std::max(a, b);
}

template <typename T>
void check(ShmCollectives& group, int rank, int world_size, std::size_t numel, Element element,
           ReduceOp op) {
  std::vector<T> expected = values_of<T>(0, numel);
  for (int other = 1; other < world_size; ++other) {
    const std::vector<T> values = values_of<T>(other, numel);
    for (std::size_t i = 0; i < numel; ++i) expected[i] = combine(expected[i], values[i], op);
  }
  std::vector<T> values = values_of<T>(rank, numel);
  group.all_reduce(values.data(), std::ssize(values), element, op, seconds(20));
  EXPECT_TRUE(values == expected) << "rank " << rank << " of " << world_size << ", " << numel
                                  << " elements";
}

TEST(ShmCollectives, EqualsASumInRankOrderToTheBitInEverySizeTypeAndWorld) {
  constexpr std::size_t kChunk = (1 << 20) / sizeof(float);
  for (const int world_size : {1, 2, 3, 4}) {
    const auto errors = errors_of(world_size, [&](ShmCollectives& group, int rank) {
      for (const std::size_t numel :
           {std::size_t{0}, std::size_t{1}, std::size_t{63}, std::size_t{64}, std::size_t{1000},
            kChunk - 1, kChunk, kChunk + 1, 3 * kChunk + 65}) {
        check<float>(group, rank, world_size, numel, Element::kFloat32, ReduceOp::kSum);
      }
      for (const ReduceOp op : {ReduceOp::kSum, ReduceOp::kMin, ReduceOp::kMax}) {
        check<float>(group, rank, world_size, 777, Element::kFloat32, op);
        check<double>(group, rank, world_size, 777, Element::kFloat64, op);
        check<std::int64_t>(group, rank, world_size, 777, Element::kInt64, op);
      }
    });
    EXPECT_THAT(errors, Each(IsEmpty()));
  }
}

TEST(ShmCollectives, RanksThatAreEarlyDoNotOvertakeTheOthers) {
  const auto errors = errors_of(3, [](ShmCollectives& group, int rank) {
    std::vector<double> values(5);
    for (int round = 0; round < 300; ++round) {
      if (round % 3 == rank) std::this_thread::yield();
      values.assign(5, round + rank);
      group.all_reduce(values.data(), 5, Element::kFloat64, ReduceOp::kSum, seconds(20));
      ASSERT_THAT(values, Each(3.0 * round + 3)) << "round " << round;
    }
  });
  EXPECT_THAT(errors, Each(IsEmpty()));
}

TEST(ShmCollectives, DifferingCallsFailOnEveryRank) {
  const auto errors = errors_of(2, [](ShmCollectives& group, int rank) {
    std::vector<float> values(10);
    group.all_reduce(values.data(), 8 + rank, Element::kFloat32, ReduceOp::kSum, seconds(20));
  });
  EXPECT_THAT(errors[0], HasSubstr("rank 1 calls another collective"));
  EXPECT_THAT(errors[1], HasSubstr("rank 0 calls another collective"));
}

TEST(ShmCollectives, NamesTheRankThatHasLeft) {
  const auto errors = errors_of(3, [](ShmCollectives& group, int rank) {
    float value = 1;
    if (rank != 1) group.all_reduce(&value, 1, Element::kFloat32, ReduceOp::kSum, seconds(20));
  });
  EXPECT_THAT(errors[0], HasSubstr("rank 1 has left"));
  EXPECT_EQ(errors[1], "");
}

TEST(ShmCollectives, NamesTheRankThatIsLateAfterTheTimeOut) {
  const auto errors = errors_of(2, [](ShmCollectives& group, int rank) {
    float value = 1;
    const milliseconds timeout = rank == 0 ? milliseconds(10) : seconds(20);
    while (rank == 1 && value < 100) {
      std::this_thread::sleep_for(milliseconds(1));
      value += 0.25F;  // about half a second late
    }
    group.all_reduce(&value, 1, Element::kFloat32, ReduceOp::kSum, timeout);
  });
  EXPECT_THAT(errors[0], HasSubstr("timed out after waiting 10ms for rank 1"));
}

TEST(ShmCollectives, StopEndsAWaitFromAnotherThread) {
  const auto errors = errors_of(2, [](ShmCollectives& group, int rank) {
    if (rank == 1) {
      std::this_thread::sleep_for(seconds(1));  // stays present, and never calls
      return;
    }
    std::thread closer([&] { group.stop(); });
    float value = 1;
    try {
      group.all_reduce(&value, 1, Element::kFloat32, ReduceOp::kSum, seconds(20));
    } catch (...) {
      closer.join();
      throw;
    }
    closer.join();
  });
  EXPECT_THAT(errors[0], HasSubstr("being closed"));
}

TEST(ShmCollectives, ReduceScatterAddsSlicesInRankOrder) {
  for (const int world_size : {1, 2, 3, 4}) {
    for (const std::size_t numel : {0U, 1U, 1000U, 300'001U}) {
      const auto errors = errors_of(world_size, [&](ShmCollectives& group, int rank) {
        const auto ranks = static_cast<std::size_t>(world_size);
        const auto own = static_cast<std::size_t>(rank);
        std::vector<float> expected = values_of<float>(0, ranks * numel);
        for (int other = 1; other < world_size; ++other) {
          const std::vector<float> values = values_of<float>(other, ranks * numel);
          for (std::size_t i = 0; i < values.size(); ++i) expected[i] += values[i];
        }
        const std::vector<float> input = values_of<float>(rank, ranks * numel);
        std::vector<float> output(numel);
        group.reduce_scatter(output.data(), input.data(), std::ssize(output), Element::kFloat32,
                             seconds(20));
        EXPECT_TRUE(std::equal(output.begin(), output.end(),
                               expected.begin() + static_cast<std::ptrdiff_t>(own * numel)));
      });
      EXPECT_THAT(errors, Each(IsEmpty()));
    }
  }
}

TEST(ShmCollectives, AllGatherOrdersByRankAlsoInPlace) {
  for (const int world_size : {1, 2, 3, 4}) {
    for (const std::size_t bytes : {0U, 5U, 3'000'001U}) {
      for (const bool in_place : {false, true}) {
        const auto errors = errors_of(world_size, [&](ShmCollectives& group, int rank) {
          std::vector<char> all(static_cast<std::size_t>(world_size) * bytes);
          std::vector<char> own(bytes, static_cast<char>('a' + rank));
          char* const place = all.data() + static_cast<std::size_t>(rank) * bytes;
          if (in_place) std::copy(own.begin(), own.end(), place);
          group.all_gather(all.data(), in_place ? place : own.data(), std::ssize(own), seconds(20));
          for (std::size_t i = 0; i < all.size(); ++i) {
            ASSERT_EQ(all[i], static_cast<char>('a' + i / bytes)) << i;
          }
        });
        EXPECT_THAT(errors, Each(IsEmpty()));
      }
    }
  }
}

TEST(ShmCollectives, ReduceGivesTheSumToThoseWhoWantIt) {
  constexpr std::size_t kNumel = 600'001;
  std::vector<float> expected = values_of<float>(0, kNumel);
  for (const int other : {1, 2}) {
    const std::vector<float> values = values_of<float>(other, kNumel);
    for (std::size_t i = 0; i < kNumel; ++i) expected[i] += values[i];
  }
  const auto errors = errors_of(3, [&](ShmCollectives& group, int rank) {
    for (int root = 0; root < 3; ++root) {
      std::vector<float> values = values_of<float>(rank, kNumel);
      group.reduce(rank == root ? values.data() : nullptr, values.data(), kNumel, Element::kFloat32,
                   ReduceOp::kSum, seconds(20));
      EXPECT_TRUE(values == (rank == root ? expected : values_of<float>(rank, kNumel)));
    }
  });
  EXPECT_THAT(errors, Each(IsEmpty()));
}

TEST(ShmCollectives, FetchGivesEachRankTheWindowThatItWants) {
  std::string text;
  for (int i = 0; i < 2'500'000; ++i) text += static_cast<char>('a' + i * 7 % 26);
  for (const std::size_t bytes : {std::size_t{0}, std::size_t{10}, text.size()}) {
    const auto errors = errors_of(3, [&](ShmCollectives& group, int rank) {
      for (int root = 0; root < 3; ++root) {
        const std::size_t begin = bytes * static_cast<std::size_t>(rank) / 3;
        const std::size_t end = bytes * static_cast<std::size_t>(rank + 1) / 3;
        std::string part(end - begin, '?');
        group.fetch(root, rank == root ? text.data() : nullptr, static_cast<std::int64_t>(bytes),
                    part.data(), {static_cast<std::int64_t>(begin), static_cast<std::int64_t>(end)},
                    seconds(20));
        EXPECT_TRUE(part == text.substr(begin, end - begin)) << rank << " from " << root;
        std::string all = rank == root ? text.substr(0, bytes) : std::string(bytes, '?');
        group.fetch(root, all.data(), std::ssize(all), all.data(), {0, std::ssize(all)},
                    seconds(20));
        EXPECT_TRUE(all == text.substr(0, bytes));
      }
    });
    EXPECT_THAT(errors, Each(IsEmpty()));
  }
}

TEST(ShmCollectives, WhoGivesUpEndsTheOthersWaits) {
  std::atomic<bool> rank_0_is_over = false;
  const auto errors = errors_of(2, [&](ShmCollectives& group, int rank) {
    float value = 1;
    if (rank == 1) {
      group.give_up();
      while (!rank_0_is_over) std::this_thread::sleep_for(milliseconds(1));  // stays present
      return;
    }
    try {
      group.all_reduce(&value, 1, Element::kFloat32, ReduceOp::kSum, std::chrono::hours(10));
    } catch (...) {
      rank_0_is_over = true;
      throw;
    }
  });
  EXPECT_THAT(errors[0], HasSubstr("rank 1 has given up"));
}

// Ranks may leave a gather or a scatter long before others do, so the next call's first chunks are
// laid out while others still read the last one's.
TEST(ShmCollectives, MixedCallsInARowDoNotMeddle) {
  constexpr int kRanks = 3;
  const auto errors = errors_of(kRanks, [&](ShmCollectives& group, int rank) {
    for (int round = 0; round < 300; ++round) {
      const auto value = static_cast<float>(rank + round);
      std::vector<float> sum(5, value);
      group.all_reduce(sum.data(), 5, Element::kFloat32, ReduceOp::kSum, seconds(20));
      const auto expected = static_cast<float>(kRanks * round + 3);
      ASSERT_EQ(sum[4], expected);
      std::vector<float> all(kRanks);
      group.all_gather(all.data(), &value, sizeof(value), seconds(20));
      ASSERT_EQ(all[2], static_cast<float>(2 + round));
      float slice = 0;
      group.reduce_scatter(&slice, all.data(), 1, Element::kFloat32, seconds(20));
      ASSERT_EQ(slice, static_cast<float>(kRanks * (rank + round)));
    }
  });
  EXPECT_THAT(errors, Each(IsEmpty()));
}

}  // namespace
}  // namespace paceline::comm
