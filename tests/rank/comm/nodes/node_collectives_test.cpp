#include "paceline/comm/nodes/node_collectives.h"

#include "paceline/base/error.h"
#include "rank/comm/nodes/nodes_as_threads.h"

#include <atomic>
#include <cmath>
#include <numeric>
#include <string>
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
using ::testing::Not;

const std::vector<std::vector<int>> kShapes{{2}, {4}, {1, 1}, {1, 1, 1}, {2, 2}, {3, 1, 2}, {1, 3}};

std::string in_words(const std::vector<int>& sizes) {
  return fmt::format("nodes of {} ranks", fmt::join(sizes, ", "));
}

/// Values whose sum depends on the order of the additions.
template <typename T>
std::vector<T> numbers_of(int rank, std::size_t numel) {
  std::vector<T> values;
  for (std::size_t i = 0; i < numel; ++i) {
    values.push_back(static_cast<T>(
        std::sin(static_cast<double>(i * 7 + 1) * static_cast<double>(rank + 1)) * 1e3));
  }
  return values;
}

template <typename T>
void combine(std::vector<T>& result, const std::vector<T>& values, ReduceOp op) {
  for (std::size_t i = 0; i < result.size(); ++i) {
    result[i] = op == ReduceOp::kSum   ? result[i] + values[i]
                : op == ReduceOp::kMin ? std::min(result[i], values[i])
                                       : std::max(result[i], values[i]);
  }
}

/// In the documented order: on each node over its ranks, and then over the nodes.
template <typename T>
std::vector<T> reduce_in_order(const std::vector<int>& sizes, std::size_t numel, ReduceOp op) {
  std::vector<T> result;
  int rank = 0;
  for (const int size : sizes) {
    std::vector<T> of_node = numbers_of<T>(rank++, numel);
    for (int i = 1; i < size; ++i) combine(of_node, numbers_of<T>(rank++, numel), op);
    if (result.empty()) {
      result = of_node;
    } else {
      combine(result, of_node, op);
    }
  }
  return result;
}

std::vector<std::string> errors_of(const std::vector<int>& sizes,
                                   const std::function<void(NodeCollectives&)>& body) {
  test::CountedNetwork network(static_cast<int>(sizes.size()));
  return errors_of_nodes(sizes, network, body);
}

template <typename T>
void check_all_reduce(NodeCollectives& group, const std::vector<int>& sizes, std::size_t numel,
                      Element element, ReduceOp op) {
  std::vector<T> values = numbers_of<T>(group.map().rank, numel);
  group.all_reduce(values.data(), std::ssize(values), element, op, seconds(20));
  EXPECT_TRUE(values == reduce_in_order<T>(sizes, numel, op))
      << in_words(sizes) << ", rank " << group.map().rank << ", " << numel << " elements";
}

TEST(NodeCollectives, AllReduceHasTheSameBitsOnEveryRankInTheDocumentedOrder) {
  for (const auto& sizes : kShapes) {
    EXPECT_THAT(
        errors_of(sizes,
                  [&](NodeCollectives& group) {
                    // Small, more than a chunk of the memory, and more than leaders gather.
                    for (const std::size_t numel : {0U, 1U, 9U, 1025U, 5000U}) {
                      check_all_reduce<float>(group, sizes, numel, Element::kFloat32,
                                              ReduceOp::kSum);
                    }
                    for (const ReduceOp op : {ReduceOp::kSum, ReduceOp::kMin, ReduceOp::kMax}) {
                      check_all_reduce<double>(group, sizes, 1200, Element::kFloat64, op);
                      check_all_reduce<std::int64_t>(group, sizes, 33, Element::kInt64, op);
                    }
                  }),
        Each(IsEmpty()));
  }
}

TEST(NodeCollectives, ReduceScatterGivesEachRankItsSliceOfThatSum) {
  for (const auto& sizes : kShapes) {
    const auto ranks = static_cast<std::size_t>(std::accumulate(sizes.begin(), sizes.end(), 0));
    for (const std::size_t numel : {0U, 1U, 700U, 3001U}) {
      const auto sum = reduce_in_order<float>(sizes, ranks * numel, ReduceOp::kSum);
      EXPECT_THAT(
          errors_of(sizes,
                    [&](NodeCollectives& group) {
                      const auto input = numbers_of<float>(group.map().rank, ranks * numel);
                      std::vector<float> output(numel);
                      group.reduce_scatter(output.data(), input.data(), std::ssize(output),
                                           Element::kFloat32, seconds(20));
                      const auto own = static_cast<std::ptrdiff_t>(
                          static_cast<std::size_t>(group.map().rank) * numel);
                      EXPECT_TRUE(std::equal(output.begin(), output.end(), sum.begin() + own))
                          << in_words(sizes) << ", " << numel;
                      EXPECT_EQ(input, numbers_of<float>(group.map().rank, ranks * numel));
                    }),
          Each(IsEmpty()));
    }
  }
}

TEST(NodeCollectives, AllGatherAndBroadcastMoveEveryRanksBytes) {
  for (const auto& sizes : kShapes) {
    const int ranks = std::accumulate(sizes.begin(), sizes.end(), 0);
    for (const std::size_t bytes : {0U, 5U, 9000U}) {
      const auto text_of = [&](int rank) {
        return std::string(bytes, static_cast<char>('a' + rank));
      };
      std::string expected;
      for (int rank = 0; rank < ranks; ++rank) expected += text_of(rank);
      EXPECT_THAT(errors_of(sizes,
                            [&](NodeCollectives& group) {
                              const int rank = group.map().rank;
                              std::string all(expected.size(), '?');
                              const std::string own = text_of(rank);
                              group.all_gather(all.data(), own.data(), std::ssize(own),
                                               seconds(20));
                              EXPECT_EQ(all, expected) << in_words(sizes);
                              for (int source = 0; source < ranks; ++source) {
                                std::string text = own;
                                group.broadcast(text.data(), std::ssize(text), source, seconds(20));
                                EXPECT_EQ(text, text_of(source)) << in_words(sizes);
                              }
                            }),
                  Each(IsEmpty()));
    }
  }
}

// Ranks leave a broadcast long before others come to it.
TEST(NodeCollectives, MixedCallsInARowDoNotMeddle) {
  const std::vector<int> sizes{2, 3};
  EXPECT_THAT(
      errors_of(sizes,
                [](NodeCollectives& group) {
                  for (int round = 0; round < 200; ++round) {
                    const int source = round % 5;
                    double value = group.map().rank + round;
                    group.broadcast(&value, sizeof(value), source, seconds(20));
                    ASSERT_EQ(value, source + round);
                    value = group.map().rank;
                    group.all_reduce(&value, 1, Element::kFloat64, ReduceOp::kSum, seconds(20));
                    ASSERT_EQ(value, 10);
                    std::vector<double> all(5, group.map().rank);
                    group.reduce_scatter(&value, all.data(), 1, Element::kFloat64, seconds(20));
                    ASSERT_EQ(value, 10);
                    group.all_gather(all.data(), &value, sizeof(value), seconds(20));
                    ASSERT_THAT(all, Each(10));
                  }
                }),
      Each(IsEmpty()));
}

// Time-outs are hours: what ends the waits is that a rank is gone or has failed.
TEST(NodeCollectives, ALostRankEndsTheCallOnEveryRankOfEveryNode) {
  const std::vector<int> sizes{2, 2, 3, 1};
  for (const int lost : {0, 1, 3, 4, 6, 7}) {
    const auto errors = errors_of(sizes, [&](NodeCollectives& group) {
      double value = 1;
      const auto sum = [&] {
        group.all_reduce(&value, 1, Element::kFloat64, ReduceOp::kSum, std::chrono::hours(10));
      };
      sum();
      if (group.map().rank == lost) return group.stop();
      sum();
    });
    for (int rank = 0; rank < 8; ++rank) {
      EXPECT_EQ(errors[static_cast<std::size_t>(rank)].empty(), rank == lost)
          << "rank " << rank << " when " << lost << " is lost";
    }
    if (lost == 6) {
      EXPECT_THAT(errors[4] + errors[5], HasSubstr("rank 6 has left"));
    }
  }
}

// The late rank's own node waits for it, and learns of the time-out when it is there. What was on
// its way may still do for that call, and not for the next one.
TEST(NodeCollectives, ATimeOutOnOneNodeEndsTheCallOnEveryRank) {
  const std::vector<int> sizes{2, 2};
  std::atomic<int> failed = 0;
  const auto errors = errors_of(sizes, [&](NodeCollectives& group) {
    const int rank = group.map().rank;
    double value = 1;
    while (rank == 3 && failed < 2) std::this_thread::sleep_for(milliseconds(1));
    try {
      for (int call = 0; call < 2; ++call) {
        group.all_reduce(&value, 1, Element::kFloat64, ReduceOp::kSum,
                         rank == 0 ? milliseconds(50) : milliseconds(std::chrono::hours(10)));
      }
    } catch (...) {
      ++failed;
      throw;
    }
  });
  EXPECT_THAT(errors, Each(Not(IsEmpty())));
  EXPECT_THAT(errors[0], HasSubstr("50ms"));
}

}  // namespace
}  // namespace paceline::comm
