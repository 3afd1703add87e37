#include "paceline/base/error.h"
#include "paceline/base/interruption.h"
#include "paceline/comm/c10d/c10d_communicator.h"
#include "paceline/comm/gloo/gloo_backend.h"
#include "paceline/tensor/aten.h"
#include "rank/comm/connected_ranks.h"
#include "support/fake_gpu_backend.h"

#include <csignal>
#include <latch>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/csrc/distributed/c10d/HashStore.hpp>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>

namespace paceline::comm {
namespace {

using test::FakeGpuBackend;
using test::Journal;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// Two ranks that are joined over sockets and, for tensors of the meta device, by fakes.
class GpuFailure : public ::testing::Test {
 protected:
  /// One rank's communicator with its fakes, the group's first.
  struct Rank {
    std::shared_ptr<Journal> journal = std::make_shared<Journal>();
    std::shared_ptr<std::vector<FakeGpuBackend*>> gpus =
        std::make_shared<std::vector<FakeGpuBackend*>>();
    std::unique_ptr<Communicator> group = {};
  };

  Rank join(int rank, const base::Interruption* interruption = nullptr) const {
    Rank joined;
    C10dGroupOptions options;
    options.interruption = interruption;
    options.members = {0, 1};
    options.checked_collectives = 0;
    options.make_backends = [journal = joined.journal, gpus = joined.gpus](
                                const auto& store, auto members, int part_rank) {
      const int size = static_cast<int>(members.size());
      auto gpu = c10::make_intrusive<FakeGpuBackend>(fmt::format("gpu {}", gpus->size()), part_rank,
                                                     size, *journal);
      gpus->push_back(gpu.get());
      auto host = make_gloo_backend(store, part_rank, size, "127.0.0.1", std::chrono::seconds(20));
      return Backends{std::move(host), std::move(gpu)};
    };
    Backends backends = options.make_backends(
        c10::make_intrusive<c10d::PrefixStore>("backend", store_), options.members, rank);
    joined.group = make_c10d_communicator(std::move(backends), store_, options);
    return joined;
  }

  static void reduce_on_gpu(Communicator& group) {
    group.all_reduce(at::empty({4}, at::kMeta), ReduceOp::kSum, "bucket 0")->wait();
  }

  c10::intrusive_ptr<c10d::Store> store_ = c10::make_intrusive<c10d::HashStore>();
};

TEST_F(GpuFailure, EndsTheWaitOfThePeersWithAnErrorOfOurs) {
  const auto errors = errors_of(test_options(2), [&](const GroupOptions& options) {
    const Rank own = join(options.rank);
    own.group->barrier();
    if (options.rank == 1) own.gpus->at(0)->refusal = "NCCL error: remote process exited";
    EXPECT_THROW(reduce_on_gpu(*own.group), base::CommError);
    EXPECT_THAT(own.journal->lines(), ElementsAre("gpu 0 aborts"));
    reduce_on_gpu(*own.group);
  });
  EXPECT_THAT(errors, Each(HasSubstr("unusable")));
}

TEST_F(GpuFailure, IsKnownAfterAWaitForTheGpu) {
  const auto errors = errors_of(test_options(2), [&](const GroupOptions& options) {
    const Rank own = join(options.rank);
    own.group->barrier();
    EXPECT_NO_THROW(own.group->require_intact());
    own.group->barrier();
    if (options.rank == 1) {
      own.gpus->at(0)->refusal = "NCCL error: remote process exited";
      EXPECT_THROW(reduce_on_gpu(*own.group), base::CommError);
    }
    while (own.journal->lines().empty()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    own.group->require_intact();
  });
  EXPECT_THAT(errors[0], HasSubstr("another rank's"));
}

TEST_F(GpuFailure, SaysOnEveryRankWhatTheRanksAreAt) {
  std::latch all_have_begun(2);
  const auto errors = errors_of(test_options(2), [&](const GroupOptions& options) {
    const Rank own = join(options.rank);
    own.group->barrier();
    own.gpus->at(0)->on_collective = [&] { all_have_begun.arrive_and_wait(); };
    if (options.rank == 1) own.gpus->at(0)->refusal = "NCCL error: remote process exited";
    reduce_on_gpu(*own.group);
  });
  EXPECT_THAT(errors[1], AllOf(HasSubstr("fake gpu: "), HasSubstr("remote process exited"),
                               HasSubstr("rank 0 is at #2 all_reduce sum [4] Float 'bucket 0'")));
  EXPECT_THAT(errors[0], AllOf(HasSubstr("fake gpu: "), HasSubstr("another rank's"),
                               HasSubstr("rank 1 is at #2 all_reduce sum [4] Float 'bucket 0'")));
}

// As after NCCL's wait, which returns at once: the rank waits for its stream.
TEST_F(GpuFailure, ReachesARankThatWaitsOutsideOfCollectives) {
  const auto errors = errors_of(test_options(2), [&](const GroupOptions& options) {
    const Rank own = join(options.rank);
    own.group->barrier();
    if (options.rank == 1) {
      own.gpus->at(0)->refusal = "NCCL error: remote process exited";
      reduce_on_gpu(*own.group);
    }
    own.gpus->at(0)->await_abort();
    own.group->barrier();  // nothing that was computed may be saved
  });
  EXPECT_THAT(errors[0], HasSubstr("another rank's"));
}

TEST_F(GpuFailure, OfOnePartEndsTheGroupAndItsOtherParts) {
  const auto errors = errors_of(test_options(2), [&](const GroupOptions& options) {
    const Rank own = join(options.rank);
    const auto first = own.group->split(0);
    const auto second = own.group->split(0);
    if (options.rank == 0) return reduce_on_gpu(*own.group);
    own.gpus->at(2)->refusal = "NCCL error: remote process exited";
    EXPECT_THROW(reduce_on_gpu(*second), base::CommError);
    EXPECT_THAT(own.journal->lines(),
                ::testing::UnorderedElementsAre("gpu 0 aborts", "gpu 1 aborts", "gpu 2 aborts"));
    reduce_on_gpu(*first);
  });
  EXPECT_THAT(errors[0], HasSubstr("another group's"));
  EXPECT_THAT(errors[1], HasSubstr("another group's"));
}

// A peer that was killed says nothing, and the launcher tells this rank alone to stop.
TEST_F(GpuFailure, NoneIsNeededToEndAWaitForTheGpuWhenTheTimeOfASignalIsOver) {
  base::Interruption interruption;
  const auto errors = errors_of(test_options(2), [&](const GroupOptions& options) {
    const Rank own = join(options.rank, options.rank == 0 ? &interruption : nullptr);
    own.group->barrier();
    if (options.rank == 0) interruption.request(SIGTERM, std::chrono::milliseconds(50));
    own.gpus->at(0)->await_abort();
    own.group->require_intact();
  });
  EXPECT_THAT(errors[0], AllOf(HasSubstr("stopped by SIGTERM while waiting for the other ranks"),
                               HasSubstr("in the time that was left")));
  EXPECT_THAT(errors[1], HasSubstr("another rank's"));
}

TEST_F(GpuFailure, ThatNcclsWatchdogFoundFailsTheNextCollective) {
  const auto errors = errors_of(test_options(2), [&](const GroupOptions& options) {
    const Rank own = join(options.rank);
    own.group->barrier();
    own.gpus->at(0)->error = c10d::ErrorType::TIMEOUT;
    own.group->barrier();
  });
  EXPECT_THAT(errors, Contains(HasSubstr("longer than the time-out")));
}

TEST_F(GpuFailure, ARankThatLeavesOnTheWayOutOfAnErrorLeavesNobodyBehind) {
  const auto errors = errors_of(test_options(2), [&](const GroupOptions& options) {
    const Rank own = join(options.rank);
    own.group->barrier();
    if (options.rank == 1) throw std::runtime_error("out of memory");
    reduce_on_gpu(*own.group);
  });
  EXPECT_THAT(errors[0], HasSubstr("another rank's"));
}

TEST_F(GpuFailure, NoneEndsThePartsBeforeTheGroupAndAbortsNothing) {
  const auto errors = errors_of(test_options(2), [&](const GroupOptions& options) {
    Rank own = join(options.rank);
    own.group->split(0)->barrier();
    const auto kept = own.group->split(0);
    own.group->shutdown();
    EXPECT_THAT(own.journal->lines(),
                ElementsAre("gpu 2 shuts down", "gpu 1 shuts down", "gpu 0 shuts down"));
    own.group.reset();
    EXPECT_THAT(own.journal->lines(), Not(Contains(HasSubstr("aborts"))));
  });
  EXPECT_THAT(errors, Each(IsEmpty()));
}

TEST_F(GpuFailure, AnAbortThatThrowsKeepsNoRankFromSayingWhy) {
  std::latch rank_1_has_failed(1);
  const auto errors = errors_of(test_options(2), [&](const GroupOptions& options) {
    const Rank own = join(options.rank);
    own.group->barrier();
    if (options.rank == 0) return rank_1_has_failed.wait();
    own.gpus->at(0)->on_abort = [] { throw std::runtime_error("ncclCommAbort failed"); };
    own.gpus->at(0)->refusal = "NCCL error: remote process exited";
    try {
      reduce_on_gpu(*own.group);
    } catch (const base::CommError&) {
      rank_1_has_failed.count_down();
      throw;
    }
  });
  EXPECT_THAT(errors[1], HasSubstr("remote process exited"));
}

}  // namespace
}  // namespace paceline::comm
