#include "paceline/comm/c10d/c10d_communicator.h"

#include "paceline/base/error.h"
#include "paceline/base/interruption.h"
#include "paceline/comm/gloo/gloo_backend.h"
#include "paceline/tensor/aten.h"
#include "rank/comm/connected_ranks.h"

#include <atomic>
#include <csignal>
#include <latch>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/csrc/distributed/c10d/HashStore.hpp>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>

namespace paceline::comm {
namespace {

using std::chrono::milliseconds;
using ::testing::AllOf;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

enum class Nodes : std::uint8_t { kOne, kOneForEachRank, kNoMemory };

/// What holds in shared memory, between nodes and by Gloo alone.
class ConnectedRanks : public ::testing::TestWithParam<Nodes> {
 protected:
  static GroupOptions options_of(int world_size) {
    GroupOptions options = test_options(world_size);
    options.ranks_per_node = GetParam() == Nodes::kOneForEachRank ? 1 : world_size;
    options.shared_memory = GetParam() != Nodes::kNoMemory;
    return options;
  }
};

INSTANTIATE_TEST_SUITE_P(, ConnectedRanks,
                         ::testing::Values(Nodes::kOne, Nodes::kOneForEachRank, Nodes::kNoMemory),
                         [](const auto& tested) {
                           return tested.param == Nodes::kOne              ? "InSharedMemory"
                                  : tested.param == Nodes::kOneForEachRank ? "BetweenNodes"
                                                                           : "ByGloo";
                         });

TEST_P(ConnectedRanks, WorksOverlapAndEndInAnyOrder) {
  const auto errors = errors_of(options_of(3), [](const GroupOptions& options) {
    const auto communicator = connect(options);
    std::vector<at::Tensor> tensors;
    std::vector<std::unique_ptr<Work>> works;
    for (int i = 0; i < 300; ++i) {  // more than are checked, more than the recorder keeps
      tensors.push_back(at::full({100}, i + options.rank, at::kDouble));
      works.push_back(communicator->all_reduce(tensors.back(), ReduceOp::kSum, "overlapping"));
    }
    for (int i = 299; i >= 0; --i) {
      works[static_cast<std::size_t>(i)]->wait();
      PACELINE_CHECK(tensors[static_cast<std::size_t>(i)].eq(3 * i + 3).all().item<bool>(),
                     "all-reduce {} is wrong", i);
    }
    communicator->shutdown();
  });
  EXPECT_THAT(errors, Each(IsEmpty()));
}

TEST_P(ConnectedRanks, ReduceScatterAddsInRankOrderInFloat32) {
  const auto errors = errors_of(options_of(3), [](const GroupOptions& options) {
    const auto communicator = connect(options);
    // In float32 and from the left: (1e8 + 1) - 1e8 is 0. In bfloat16 256 + 1 + 1 would stay 256.
    const std::array<float, 3> values{1e8F, 1.0F, -1e8F};
    const at::Tensor sum = at::empty({1});
    communicator
        ->reduce_scatter(sum, at::full({3}, values.at(static_cast<std::size_t>(options.rank))))
        ->wait();
    PACELINE_CHECK(sum.item<float>() == 0.0F, "got {}", sum.item<float>());
    const at::Tensor narrow = at::empty({1}, at::kBFloat16);
    communicator
        ->reduce_scatter(narrow, at::full({3}, options.rank == 0 ? 256.0 : 1.0, at::kBFloat16))
        ->wait();
    PACELINE_CHECK(narrow.item<float>() == 258.0F, "got {}", narrow.item<float>());
    communicator->shutdown();
  });
  EXPECT_THAT(errors, Each(IsEmpty()));
}

TEST_P(ConnectedRanks, DifferingCallsFailOnEveryRankWithBothSidesWords) {
  const auto errors = errors_of(options_of(2), [](const GroupOptions& options) {
    const auto communicator = connect(options);
    communicator->barrier();
    communicator->all_reduce(at::zeros({2 + options.rank}), ReduceOp::kSum, "bucket 3 (fc.weight)")
        ->wait();
  });
  EXPECT_THAT(errors, Each(AllOf(HasSubstr("the order of collectives diverged at #2"),
                                 HasSubstr("all_reduce sum [2] Float 'bucket 3 (fc.weight)'"),
                                 HasSubstr("all_reduce sum [3] Float 'bucket 3 (fc.weight)'"))));
}

TEST_P(ConnectedRanks, ALostPeerIsNamed) {
  const auto errors = errors_of(options_of(3), [](const GroupOptions& options) {
    auto communicator = connect(options);
    communicator->barrier();
    if (options.rank == 1) {
      return;  // closes its connections without a word, as a killed process does
    }
    communicator->all_reduce(at::zeros({4}), ReduceOp::kSum, "bucket 0")->wait();
  });
  EXPECT_EQ(errors[1], "");
  for (const std::size_t rank : {0U, 2U}) {
    EXPECT_THAT(errors[rank],
                AllOf(HasSubstr("rank 1 is lost"), HasSubstr("#2 all_reduce sum [4]")));
  }
}

// The ranks learn of it one after another, within moments.
TEST(C10dCommunicator, ALostPeerOfAnotherNodeIsNamedOnEveryRank) {
  for (const int lost : {2, 3}) {
    GroupOptions group = test_options(6);
    group.ranks_per_node = 2;
    const auto errors = errors_of(group, [&](const GroupOptions& options) {
      const auto communicator = connect(options);
      communicator->barrier();
      if (options.rank == lost) return;
      communicator->all_reduce(at::zeros({4}), ReduceOp::kSum, "bucket 0")->wait();
    });
    for (int rank = 0; rank < 6; ++rank) {
      const std::string expected = rank == lost ? "" : fmt::format("rank {} is lost", lost);
      EXPECT_THAT(errors[static_cast<std::size_t>(rank)], HasSubstr(expected)) << rank;
    }
  }
}

/// Counts a latch down at the end of a scope, however it ends.
class CountDown {
 public:
  explicit CountDown(std::latch& latch) : latch_(latch) {}
  ~CountDown() { latch_.count_down(); }

 private:
  std::latch& latch_;
};

TEST_P(ConnectedRanks, ACollectiveThatWasOnlyComparedIsNotDone) {
  std::latch rank_0_has_failed(1);
  const auto errors = errors_of(options_of(2), [&](const GroupOptions& options) {
    const auto communicator = connect(options);
    const auto work = communicator->all_reduce(at::zeros({4}), ReduceOp::kSum, "bucket 0");
    communicator->set_timeout(milliseconds(500));
    if (options.rank == 1) return rank_0_has_failed.wait();
    const CountDown at_end(rank_0_has_failed);
    work->wait();
    communicator->barrier();
  });
  EXPECT_THAT(errors[0],
              HasSubstr("rank 1 is at #1 all_reduce sum [4] Float 'bucket 0' (not done)"));
}

/// One of two ranks, over sockets and a store in memory.
std::unique_ptr<Communicator> join_pair(const c10::intrusive_ptr<c10d::Store>& store, int rank,
                                        C10dGroupOptions options = {}) {
  options.members = {0, 1};
  options.make_backends = [](const auto& own_store, auto members, int part_rank) {
    return Backends{make_gloo_backend(own_store, part_rank, static_cast<int>(members.size()),
                                      "127.0.0.1", std::chrono::seconds(20))};
  };
  Backends backends = options.make_backends(
      c10::make_intrusive<c10d::PrefixStore>("backend", store), options.members, rank);
  return make_c10d_communicator(std::move(backends), store, options);
}

TEST(C10dCommunicator, RanksThatWaitCrosswiseFindOutAlsoWhenTheirCallsAreNotComparedAnyMore) {
  const auto store = c10::make_intrusive<c10d::HashStore>();
  const auto errors = errors_of(test_options(2), [&](const GroupOptions& options) {
    C10dGroupOptions group_options;
    group_options.checked_collectives = 1;
    group_options.long_wait = milliseconds(300);
    const auto communicator = join_pair(store, options.rank, group_options);
    communicator->barrier();
    communicator->broadcast(at::zeros({4}), 1 - options.rank, "weights")->wait();
  });
  EXPECT_THAT(errors, Each(AllOf(HasSubstr("the order of collectives diverged at #2"),
                                 HasSubstr("broadcast"))));
  EXPECT_THAT(errors, ::testing::Contains(HasSubstr("another rank waits for another collective")));
}

TEST(C10dCommunicator, PartsOfTheGroupEndWithIt) {
  GroupOptions group = test_options(2);
  const auto store = c10::make_intrusive<c10d::HashStore>();
  const auto errors = errors_of(group, [&](const GroupOptions& options) {
    const auto communicator = join_pair(store, options.rank);
    communicator->split(7)->barrier();  // the handle is gone at once
    auto kept = communicator->split(8);
    communicator->shutdown();
    kept.reset();
  });
  EXPECT_THAT(errors, Each(IsEmpty()));
  EXPECT_EQ(store->add("split 0 color 7/watch/left", 0), 2) << "rank 0 did not wait for rank 1";
  EXPECT_EQ(store->add("split 1 color 8/watch/left", 0), 2);
}

TEST_P(ConnectedRanks, AnInterruptionEndsAWaitWhenItsTimeIsOver) {
  std::latch rank_0_has_given_up(1);
  base::Interruption interruption;
  GroupOptions group = options_of(2);
  group.timeout = std::chrono::minutes(10);
  group.interruption = &interruption;
  const auto errors = errors_of(group, [&](const GroupOptions& options) {
    const auto communicator = connect(options);
    communicator->barrier();
    if (options.rank == 1) return rank_0_has_given_up.wait();
    const CountDown at_end(rank_0_has_given_up);
    interruption.request(SIGTERM, milliseconds(300));
    communicator->all_reduce(at::zeros({4}), ReduceOp::kSum, "bucket 0")->wait();
  });
  EXPECT_THAT(errors[0], HasSubstr("stopped by SIGTERM while waiting for the other ranks in "
                                   "collective #2"));
}

// The time-out of the collective that is still at work is ten minutes.
TEST(C10dCommunicator, AWaitThatIsGivenUpInOnePartIsGivenUpInAll) {
  std::latch rank_0_is_gone(1);
  std::latch rank_1_is_gone(1);
  base::Interruption interruption;
  const auto store = c10::make_intrusive<c10d::HashStore>();
  const auto errors = errors_of(test_options(2), [&](const GroupOptions& options) {
    const CountDown at_end(options.rank == 0 ? rank_0_is_gone : rank_1_is_gone);
    C10dGroupOptions group_options;
    group_options.checked_collectives = 0;
    group_options.interruption = &interruption;
    const auto communicator = join_pair(store, options.rank, group_options);
    const auto first = communicator->split(1);
    const auto second = communicator->split(2);
    if (options.rank == 1) return rank_0_is_gone.wait();
    const auto of_all = communicator->all_reduce(at::zeros({4}), ReduceOp::kSum, "bucket 0");
    const auto of_first = first->all_reduce(at::zeros({4}), ReduceOp::kSum, "bucket 1");
    interruption.request(SIGTERM, milliseconds(100));
    EXPECT_THROW(second->barrier(), base::Interrupted);
  });
  EXPECT_THAT(errors, Each(IsEmpty()));
}

TEST_P(ConnectedRanks, AnInterruptionLetsTheLastStepsEnd) {
  base::Interruption interruption;
  GroupOptions group = options_of(2);
  group.interruption = &interruption;
  const auto errors = errors_of(group, [&](const GroupOptions& options) {
    const auto communicator = connect(options);
    communicator->barrier();
    interruption.request(SIGTERM, std::chrono::hours(1));
    for (int step = 0; step < 200; ++step) {
      const at::Tensor tensor = at::ones({4});
      communicator->all_reduce(tensor, ReduceOp::kSum, "bucket 0")->wait();
      PACELINE_CHECK(tensor.eq(2).all().item<bool>(), "step {} is wrong", step);
    }
    communicator->shutdown();
  });
  EXPECT_THAT(errors, Each(IsEmpty()));
}

TEST_P(ConnectedRanks, ALatePeerIsNamedAfterTheTimeOut) {
  std::latch rank_0_has_failed(1);
  const auto errors = errors_of(options_of(2), [&](const GroupOptions& options) {
    const auto communicator = connect(options);
    communicator->barrier();
    communicator->set_timeout(milliseconds(300));
    if (options.rank == 1) {
      rank_0_has_failed.wait();
      return;
    }
    const CountDown at_end(rank_0_has_failed);
    communicator->all_reduce(at::zeros({4}), ReduceOp::kSum, "bucket 0")->wait();
  });
  EXPECT_THAT(errors[0], AllOf(HasSubstr("rank 1 is alive but late"),
                               HasSubstr("rank 1 is at #1 barrier (done)"), HasSubstr("300ms")));
}

TEST_P(ConnectedRanks, IsUnusableAfterAFailure) {
  std::atomic<int> refusals = 0;
  GroupOptions group = options_of(2);
  group.failure_grace = milliseconds(10);
  errors_of(group, [&](const GroupOptions& options) {
    auto communicator = connect(options);
    communicator->barrier();
    if (options.rank == 1) {
      return;
    }
    EXPECT_THROW(communicator->barrier(), base::CommError);
    try {
      communicator->barrier();
    } catch (const base::CommError& error) {
      EXPECT_THAT(error.what(), HasSubstr("unusable"));
      ++refusals;
    }
  });
  EXPECT_EQ(refusals, 1);
}

}  // namespace
}  // namespace paceline::comm
