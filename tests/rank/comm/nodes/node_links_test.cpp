#include "paceline/comm/nodes/node_links.h"

#include "paceline/base/error.h"
#include "support/counted_network.h"

#include <cmath>
#include <functional>
#include <latch>
#include <numeric>
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
using ::testing::Not;

/// Runs `body` with one thread for each node; what each threw, "" for nothing.
std::vector<std::string> errors_of(int num_nodes,
                                   const std::function<void(NodeLinks&, int node)>& body) {
  test::CountedNetwork network(num_nodes);
  std::vector<std::string> errors(static_cast<std::size_t>(num_nodes));
  std::vector<std::thread> threads;
  for (int node = 0; node < num_nodes; ++node) {
    threads.emplace_back([&, node] {
      NodeLinks links(network.join(node));
      try {
        body(links, node);
      } catch (const std::exception& error) {
        errors[static_cast<std::size_t>(node)] = error.what();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  return errors;
}

/// Values whose sum depends on the order of the additions.
std::vector<float> terms_of(int node, std::size_t numel) {
  std::vector<float> values;
  for (std::size_t i = 0; i < numel; ++i) {
    values.push_back(std::sin(static_cast<float>(i * 7 + 1) * static_cast<float>(node + 1)) * 1e3F);
  }
  return values;
}

std::vector<float> sum_in_order(int num_nodes, std::size_t numel) {
  std::vector<float> sum = terms_of(0, numel);
  for (int node = 1; node < num_nodes; ++node) {
    const std::vector<float> values = terms_of(node, numel);
    for (std::size_t i = 0; i < numel; ++i) sum[i] += values[i];
  }
  return sum;
}

constexpr std::size_t kLarge = NodeLinks::kGatheredBytes / sizeof(float) + 1;

TEST(NodeLinks, AllReduceEqualsASumInTheNodesOrderToTheBitInEverySize) {
  for (const int num_nodes : {2, 3, 4, 5, 8, 13}) {
    for (const std::size_t numel :
         {std::size_t{0}, std::size_t{1}, std::size_t{9}, kLarge - 1, kLarge, 10 * kLarge + 3}) {
      const std::vector<float> expected = sum_in_order(num_nodes, numel);
      EXPECT_THAT(errors_of(num_nodes,
                            [&](NodeLinks& links, int node) {
                              std::vector<float> values = terms_of(node, numel);
                              links.all_reduce(values.data(), std::ssize(values), Element::kFloat32,
                                               ReduceOp::kSum, seconds(20));
                              EXPECT_TRUE(values == expected)
                                  << node << " of " << num_nodes << ", " << numel << " elements";
                            }),
                  Each(IsEmpty()));
    }
  }
}

TEST(NodeLinks, AllGatherTakesPartsOfAnySize) {
  for (const int num_nodes : {2, 3, 7, 8}) {
    std::vector<std::int64_t> parts;
    std::string expected;
    for (int node = 0; node < num_nodes; ++node) {
      parts.push_back(node % 3 == 1 ? 0 : 100 * node + 5);
      expected +=
          std::string(static_cast<std::size_t>(parts.back()), static_cast<char>('a' + node));
    }
    const auto errors = errors_of(num_nodes, [&](NodeLinks& links, int node) {
      std::string all(expected.size(), '?');
      const auto end = parts.begin() + node;
      const auto begin = static_cast<std::size_t>(std::accumulate(parts.begin(), end, 0L));
      all.replace(begin, static_cast<std::size_t>(*end),
                  std::string(static_cast<std::size_t>(*end), static_cast<char>('a' + node)));
      links.all_gather(all.data(), parts, seconds(20));
      EXPECT_EQ(all, expected);
    });
    EXPECT_THAT(errors, Each(IsEmpty()));
  }
}

TEST(NodeLinks, ReduceScatterTakesPartsOfAnySize) {
  const std::vector<std::int64_t> parts{3, 0, 4000, 1};
  const std::vector<float> expected = sum_in_order(4, 4004);
  const auto errors = errors_of(4, [&](NodeLinks& links, int node) {
    std::vector<float> values = terms_of(node, expected.size());
    links.reduce_scatter(values.data(), parts, Element::kFloat32, ReduceOp::kSum, seconds(20));
    const auto own = parts.begin() + node;
    const std::int64_t begin = std::accumulate(parts.begin(), own, 0L);
    EXPECT_TRUE(std::equal(values.begin() + begin, values.begin() + begin + *own,
                           expected.begin() + begin));
  });
  EXPECT_THAT(errors, Each(IsEmpty()));
}

TEST(NodeLinks, BroadcastReachesEveryNodeFromEverySource) {
  for (const int num_nodes : {2, 3, 6, 8}) {
    for (const std::size_t numel : {std::size_t{0}, std::size_t{5}, kLarge}) {
      const auto errors = errors_of(num_nodes, [&](NodeLinks& links, int node) {
        for (int source = 0; source < num_nodes; ++source) {
          std::vector<float> values = terms_of(node, numel);
          links.broadcast(values.data(), std::ssize(values) * 4, source, seconds(20));
          EXPECT_TRUE(values == terms_of(source, numel)) << node << " from " << source;
        }
      });
      EXPECT_THAT(errors, Each(IsEmpty()));
    }
  }
}

// Nodes that wait for the late one learn it from that. What was on its way may still do for that
// call, and not for the next one.
TEST(NodeLinks, AWaitThatIsOverEndsTheCallOnAllNodes) {
  std::latch node_1_has_failed(1);
  const auto errors = errors_of(5, [&](NodeLinks& links, int node) {
    double value = 1;
    if (node == 3) node_1_has_failed.wait();
    const milliseconds timeout =
        node == 1 ? milliseconds(50) : milliseconds(std::chrono::hours(10));
    try {
      for (int call = 0; call < 2; ++call) {
        links.all_reduce(&value, 1, Element::kFloat64, ReduceOp::kSum, timeout);
      }
    } catch (...) {
      links.close();
      if (node == 1) node_1_has_failed.count_down();
      throw;
    }
  });
  EXPECT_THAT(errors, Each(Not(IsEmpty())));
  EXPECT_THAT(errors[1], HasSubstr("50ms"));
}

TEST(NodeLinks, CloseEndsAWaitOnAnotherThread) {
  const auto errors = errors_of(2, [](NodeLinks& links, int node) {
    if (node == 1) return;
    std::thread closer([&] { links.close(); });
    double value = 1;
    try {
      links.all_reduce(&value, 1, Element::kFloat64, ReduceOp::kSum, seconds(60));
    } catch (...) {
      closer.join();
      throw;
    }
    closer.join();
  });
  EXPECT_THAT(errors[0], HasSubstr("closed"));
}

}  // namespace
}  // namespace paceline::comm
