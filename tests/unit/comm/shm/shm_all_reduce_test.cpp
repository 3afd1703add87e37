#include "paceline/comm/shm/shm_all_reduce.h"

#include "paceline/base/error.h"

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
using Element = ShmAllReduce::Element;

/// Runs `body` with one thread for each rank of a group; what each threw, "" for nothing.
std::vector<std::string> errors_of(int world_size,
                                   const std::function<void(ShmAllReduce&, int rank)>& body) {
  const std::size_t bytes = ShmAllReduce::bytes_needed(world_size);
  SharedMemory made = SharedMemory::create(bytes);
  std::vector<SharedMemory> memories;
  for (int rank = 0; rank < world_size; ++rank) {
    memories.push_back(SharedMemory::open(made.name(), bytes));
    memories.back().mark_present(rank);
  }
  made.unlink();
  std::vector<std::string> errors(memories.size());
  std::vector<std::thread> threads;
  for (int rank = 0; rank < world_size; ++rank) {
    const auto index = static_cast<std::size_t>(rank);
    threads.emplace_back([&, index, rank] {
      try {
        ShmAllReduce group(std::move(memories[index]), rank, world_size);
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
void check(ShmAllReduce& group, int rank, int world_size, std::size_t numel, Element element,
           ReduceOp op) {
  std::vector<T> expected = values_of<T>(0, numel);
  for (int other = 1; other < world_size; ++other) {
    const std::vector<T> values = values_of<T>(other, numel);
    for (std::size_t i = 0; i < numel; ++i) expected[i] = combine(expected[i], values[i], op);
  }
  std::vector<T> values = values_of<T>(rank, numel);
  group.run(values.data(), std::ssize(values), element, op, seconds(20));
  EXPECT_TRUE(values == expected) << "rank " << rank << " of " << world_size << ", " << numel
                                  << " elements";
}

TEST(ShmAllReduce, EqualsASumInRankOrderToTheBitInEverySizeTypeAndWorld) {
  constexpr std::size_t kChunk = (1 << 20) / sizeof(float);
  for (const int world_size : {1, 2, 3, 4}) {
    const auto errors = errors_of(world_size, [&](ShmAllReduce& group, int rank) {
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

TEST(ShmAllReduce, RanksThatAreEarlyDoNotOvertakeTheOthers) {
  const auto errors = errors_of(3, [](ShmAllReduce& group, int rank) {
    std::vector<double> values(5);
    for (int round = 0; round < 300; ++round) {
      if (round % 3 == rank) std::this_thread::yield();
      values.assign(5, round + rank);
      group.run(values.data(), 5, Element::kFloat64, ReduceOp::kSum, seconds(20));
      ASSERT_THAT(values, Each(3.0 * round + 3)) << "round " << round;
    }
  });
  EXPECT_THAT(errors, Each(IsEmpty()));
}

TEST(ShmAllReduce, DifferingCallsFailOnEveryRank) {
  const auto errors = errors_of(2, [](ShmAllReduce& group, int rank) {
    std::vector<float> values(10);
    group.run(values.data(), 8 + rank, Element::kFloat32, ReduceOp::kSum, seconds(20));
  });
  EXPECT_THAT(errors[0], HasSubstr("rank 1 calls another collective"));
  EXPECT_THAT(errors[1], HasSubstr("rank 0 calls another collective"));
}

TEST(ShmAllReduce, NamesTheRankThatHasLeft) {
  const auto errors = errors_of(3, [](ShmAllReduce& group, int rank) {
    float value = 1;
    if (rank != 1) group.run(&value, 1, Element::kFloat32, ReduceOp::kSum, seconds(20));
  });
  EXPECT_THAT(errors[0], HasSubstr("rank 1 has left"));
  EXPECT_EQ(errors[1], "");
}

TEST(ShmAllReduce, NamesTheRankThatIsLateAfterTheTimeOut) {
  const auto errors = errors_of(2, [](ShmAllReduce& group, int rank) {
    float value = 1;
    const milliseconds timeout = rank == 0 ? milliseconds(10) : seconds(20);
    while (rank == 1 && value < 100) {
      std::this_thread::sleep_for(milliseconds(1));
      value += 0.25F;  // about half a second late
    }
    group.run(&value, 1, Element::kFloat32, ReduceOp::kSum, timeout);
  });
  EXPECT_THAT(errors[0], HasSubstr("timed out after waiting 10ms for rank 1"));
}

TEST(ShmAllReduce, StopEndsAWaitFromAnotherThread) {
  const auto errors = errors_of(2, [](ShmAllReduce& group, int rank) {
    if (rank == 1) {
      std::this_thread::sleep_for(seconds(1));  // stays present, and never calls
      return;
    }
    std::thread closer([&] { group.stop(); });
    float value = 1;
    try {
      group.run(&value, 1, Element::kFloat32, ReduceOp::kSum, seconds(20));
    } catch (...) {
      closer.join();
      throw;
    }
    closer.join();
  });
  EXPECT_THAT(errors[0], HasSubstr("being closed"));
}

}  // namespace
}  // namespace paceline::comm
