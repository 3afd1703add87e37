#include "paceline/comm/nodes/node_backend.h"

#include "paceline/base/error.h"
#include "paceline/comm/gloo/gloo_backend.h"
#include "paceline/tensor/aten.h"
#include "rank/comm/collectives_check.h"
#include "rank/comm/connected_ranks.h"

#include <atomic>
#include <csignal>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <torch/csrc/distributed/c10d/HashStore.hpp>

namespace paceline::comm {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(NodeBackend, AddsTheSameBitsAsGlooOnTwoRanks) {
  GroupOptions shared = test_options(2);
  GroupOptions sockets = test_options(2);
  sockets.shared_memory = false;
  std::vector<at::Tensor> sums(2);
  for (const GroupOptions& options : {shared, sockets}) {
    const auto errors = errors_of(options, [&](const GroupOptions& own) {
      const auto communicator = connect(own);
      const at::Tensor tensor = (at::arange(600'000) + own.rank).sin();
      communicator->all_reduce(tensor, ReduceOp::kSum)->wait();
      communicator->shutdown();
      if (own.rank == 0) sums[options.shared_memory ? 0 : 1] = tensor;
    });
    EXPECT_THAT(errors, Each(IsEmpty()));
  }
  EXPECT_TRUE(sums[0].equal(sums[1]));
}

TEST(NodeBackend, WithoutRoomForItCollectivesGoOverSockets) {
  std::signal(SIGXFSZ, SIG_IGN);
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  const rlimit narrow{4096, before.rlim_max};  // stands for a full /dev/shm
  setrlimit(RLIMIT_FSIZE, &narrow);
  const auto errors = errors_of(test_options(3), [](const GroupOptions& options) {
    const auto communicator = connect(options);
    PACELINE_CHECK(communicator->describe().starts_with("gloo over lo"), "is {}",
                   communicator->describe());
    check_collectives(*communicator);
    communicator->shutdown();
  });
  setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, SIG_DFL);
  EXPECT_THAT(errors, Each(IsEmpty()));
}

TEST(NodeBackend, CollectivesEqualTorchArithmeticOverNodesOfAllShapes) {
  struct Shape {
    int world_size;
    int ranks_per_node;
    const char* backend;
  };
  for (const Shape& shape :
       {Shape{4, 2, "shared memory and gloo"}, {5, 2, "shared memory and gloo"}, {3, 1, "gloo"}}) {
    GroupOptions group = test_options(shape.world_size);
    group.ranks_per_node = shape.ranks_per_node;
    EXPECT_THAT(errors_of(group,
                          [&](const GroupOptions& options) {
                            const auto communicator = connect(options);
                            EXPECT_EQ(communicator->backend(), shape.backend);
                            check_collectives(*communicator);
                            communicator->shutdown();
                          }),
                Each(IsEmpty()))
        << shape.world_size << " ranks, " << shape.ranks_per_node << " on a node";
  }
}

TEST(NodeBackend, LargeSumsHaveTheSameBitsOnEveryRank) {
  GroupOptions group = test_options(6);
  group.ranks_per_node = 2;
  std::vector<at::Tensor> sums(6);
  EXPECT_THAT(errors_of(group,
                        [&](const GroupOptions& options) {
                          const auto communicator = connect(options);
                          const at::Tensor tensor =
                              (at::arange(600'000) * (options.rank + 1)).sin();
                          communicator->all_reduce(tensor, ReduceOp::kSum)->wait();
                          communicator->shutdown();
                          sums[static_cast<std::size_t>(options.rank)] = tensor;
                        }),
              Each(IsEmpty()));
  for (const at::Tensor& sum : sums) EXPECT_TRUE(sum.equal(sums[0]));
}

TEST(NodeBackend, NarrowNumbersAreRoundedOnce) {
  GroupOptions group = test_options(4);
  group.ranks_per_node = 2;
  EXPECT_THAT(errors_of(group,
                        [](const GroupOptions& options) {
                          const auto communicator = connect(options);
                          // In bfloat16 256 + 1 + 1 + 1 would stay 256.
                          const at::Tensor tensor =
                              at::full({3}, options.rank == 0 ? 256.0 : 1.0, at::kBFloat16);
                          communicator->all_reduce(tensor, ReduceOp::kSum)->wait();
                          EXPECT_EQ(tensor[0].item<float>(), 260.0F);
                          communicator->shutdown();
                        }),
              Each(IsEmpty()));
}

TEST(NodeBackend, OnlyTheFirstRankOfANodeIsConnectedWithOtherNodes) {
  const auto store = c10::make_intrusive<c10d::HashStore>();
  std::atomic<int> connected = 0;
  std::vector<std::thread> threads;
  for (int rank = 0; rank < 4; ++rank) {
    threads.emplace_back([&, rank] {
      const std::vector<int> members{0, 1, 2, 3};
      const NetworkFactory connect = [&](const auto& own_store, int node, int num_nodes) {
        ++connected;
        EXPECT_EQ(node, rank / 2);
        return make_gloo_backend(own_store, node, num_nodes, "127.0.0.1", std::chrono::seconds(20));
      };
      const auto backend =
          make_node_backend(store, map_nodes(members, rank, 2), connect, std::chrono::seconds(20));
      c10d::BarrierOptions options;
      options.timeout = std::chrono::seconds(20);
      backend->barrier(options)->wait();
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(connected, 2);
}

}  // namespace
}  // namespace paceline::comm
