// The counts of docs/scaling.md: the collectives' own code on up to 1,000 threads as ranks.

#include "paceline/base/error.h"
#include "rank/comm/nodes/nodes_as_threads.h"

#include <algorithm>
#include <bit>
#include <cstdio>
#include <map>
#include <numeric>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

namespace paceline::comm {
namespace {

using std::chrono::minutes;
using test::CountedNetwork;
using ::testing::Each;
using ::testing::IsEmpty;

using Counts = std::vector<CountedNetwork::Count>;

constexpr std::int64_t kText = 100;        // bytes of each rank's text
constexpr std::int64_t kBucket = 1 << 18;  // elements of a megabyte of gradients

/// What the collectives of a run move.
const std::map<std::string, std::function<void(NodeCollectives&)>> kCalls{
    {"a step's flags",
     [](NodeCollectives& group) {
       std::vector<double> flags(9, 1.0);
       group.all_reduce(flags.data(), 9, Element::kFloat64, ReduceOp::kSum, minutes(5));
       ASSERT_THAT(flags, Each(group.map().world_size()));
     }},
    {"barrier",
     [](NodeCollectives& group) {
       std::int64_t nothing = 0;
       group.all_reduce(&nothing, 1, Element::kInt64, ReduceOp::kSum, minutes(5));
     }},
    {"broadcast of 72 bytes",
     [](NodeCollectives& group) {
       std::vector<double> values(9, group.map().rank);
       group.broadcast(values.data(), 72, 0, minutes(5));
       ASSERT_THAT(values, Each(0));
     }},
    {"all_gather_text of 100 bytes",
     [](NodeCollectives& group) {
       std::vector<std::int64_t> lengths(static_cast<std::size_t>(group.map().world_size()));
       group.all_gather(lengths.data(), &kText, sizeof(kText), minutes(5));
       ASSERT_THAT(lengths, Each(kText));
       const std::string own(kText, 'x');
       std::string all(lengths.size() * kText, '?');
       group.all_gather(all.data(), own.data(), kText, minutes(5));
       ASSERT_EQ(all.find('?'), std::string::npos);
     }},
    {"all_reduce of 1 MiB",
     [](NodeCollectives& group) {
       std::vector<float> values(kBucket, 1.0F);
       group.all_reduce(values.data(), kBucket, Element::kFloat32, ReduceOp::kSum, minutes(5));
       ASSERT_EQ(values.back(), static_cast<float>(group.map().world_size()));
     }},
};

/// What the first rank that sends most has sent in a call.
CountedNetwork::Count most(const Counts& counts) {
  return *std::ranges::max_element(counts, {}, &CountedNetwork::Count::messages);
}

std::map<std::string, CountedNetwork::Count> counts_of(int num_nodes, int ranks_per_node) {
  std::map<std::string, CountedNetwork::Count> result;
  for (const auto& [name, call] : kCalls) {
    CountedNetwork network(num_nodes);
    const std::vector<int> sizes(static_cast<std::size_t>(num_nodes), ranks_per_node);
    EXPECT_THAT(errors_of_nodes(sizes, network, call), Each(IsEmpty())) << name;
    result[name] = most(network.take_counts());
    std::printf("%4d ranks on %3d nodes, %-28s: %3ld messages, %7ld bytes\n",
                num_nodes * ranks_per_node, num_nodes, name.c_str(), result[name].messages,
                result[name].bytes);
  }
  return result;
}

int rounds_between(int num_nodes) {
  return std::bit_width(static_cast<unsigned>(num_nodes) - 1);  // ceil(log2)
}

// Of each node the first rank alone is on the network, so the most that a rank sends is what it
// sends; the others have no connection to send by.
void check_bounds(int num_nodes, int ranks_per_node) {
  auto counts = counts_of(num_nodes, ranks_per_node);
  const int rounds = rounds_between(num_nodes);
  const std::int64_t others = num_nodes - 1;
  EXPECT_EQ(counts["a step's flags"].messages, rounds);
  EXPECT_EQ(counts["a step's flags"].bytes, 72 * others);
  EXPECT_EQ(counts["barrier"].messages, rounds);
  EXPECT_EQ(counts["barrier"].bytes, 8 * others);
  EXPECT_EQ(counts["broadcast of 72 bytes"].messages, rounds);
  EXPECT_EQ(counts["all_gather_text of 100 bytes"].messages, 2 * rounds);
  EXPECT_EQ(counts["all_gather_text of 100 bytes"].bytes, (8 + kText) * ranks_per_node * others);
  EXPECT_EQ(counts["all_reduce of 1 MiB"].messages, others + rounds);
  EXPECT_LE(counts["all_reduce of 1 MiB"].bytes, 2 * 4 * kBucket);
}

TEST(MessageCounts, OneNodeSendsNothing) {
  for (const auto& [name, count] : counts_of(1, 8)) EXPECT_EQ(count.messages, 0) << name;
}

TEST(MessageCounts, EightNodesOfEightRanks) { check_bounds(8, 8); }

TEST(MessageCounts, AThousandRanksOn125Nodes) {
  rlimit before{};
  getrlimit(RLIMIT_NOFILE, &before);
  if (before.rlim_max < 4096) GTEST_SKIP() << "1,000 ranks of one process take 2,200 descriptors";
  const rlimit raised{before.rlim_max, before.rlim_max};
  setrlimit(RLIMIT_NOFILE, &raised);
  check_bounds(125, 8);
  setrlimit(RLIMIT_NOFILE, &before);
}

}  // namespace
}  // namespace paceline::comm
