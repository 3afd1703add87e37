#include "paceline/comm/local/local_group.h"

#include "paceline/base/error.h"
#include "paceline/tensor/torch.h"
#include "rank/comm/collectives_check.h"
#include "support/run_ranks.h"

#include <gmock/gmock.h>
#include <gtest/gtest-spi.h>
#include <gtest/gtest.h>

namespace paceline::comm {
namespace {

using test::run_ranks;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

TEST(LocalGroup, CollectivesEqualTorchArithmetic) {
  for (const int world_size : {1, 2, 3, 4}) {
    run_ranks(world_size, check_collectives);
  }
}

TEST(LocalGroup, SumsInRankOrder) {
  // (1e8 + 1) - 1e8 is 0 in float32 when added from the left and 1 in another order.
  run_ranks(3, [](Communicator& communicator) {
    const std::array<float, 3> values{1e8F, 1.0F, -1e8F};
    const at::Tensor tensor =
        at::full({1}, values.at(static_cast<std::size_t>(communicator.rank())));
    communicator.all_reduce(tensor, ReduceOp::kSum)->wait();
    PACELINE_CHECK(tensor.item<float>() == 0.0F, "{} is not the sum in rank order",
                   tensor.item<float>());
  });
}

TEST(LocalGroup, BFloat16IsAddedInFloat32) {
  // 256 + 1 is 256 in bfloat16, so adding four ones to it in that type would lose them.
  run_ranks(4, [](Communicator& communicator) {
    const at::Tensor tensor =
        at::full({1}, communicator.rank() == 0 ? 256.0 : 2.0 / 3.0, at::kFloat).to(at::kBFloat16);
    communicator.all_reduce(tensor, ReduceOp::kSum)->wait();
    PACELINE_CHECK(tensor.item<float>() == 258.0F, "got {}", tensor.item<float>());
  });
}

TEST(LocalGroup, WorksOverlapAndMayBeIssuedFromBackward) {
  run_ranks(3, [](Communicator& communicator) {
    at::Tensor weight = at::ones({8});
    weight.set_requires_grad(true);
    std::vector<std::unique_ptr<Work>> works;
    at::Tensor reduced;
    weight.register_hook([&](const at::Tensor& gradient) {
      reduced = gradient.clone();
      works.push_back(communicator.all_reduce(reduced, ReduceOp::kSum, "gradient"));
      works.push_back(communicator.all_reduce(at::ones({2}), ReduceOp::kSum));
    });
    (weight * static_cast<double>(communicator.rank() + 1)).sum().backward();
    for (const auto& work : works) {
      work->wait();
    }
    PACELINE_CHECK(reduced.equal(at::full({8}, 6.0F)), "the gradients' sum is wrong");
  });
}

TEST(LocalGroup, DifferingCallsAreNamedOnEveryRank) {
  std::atomic<int> failures = 0;
  const auto body = [&](Communicator& communicator) {
    try {
      communicator.barrier();
      communicator.all_reduce(at::zeros({2 + communicator.rank()}), ReduceOp::kMax)->wait();
    } catch (const base::CommError& error) {
      EXPECT_THAT(error.what(), HasSubstr("diverged at #2"));
      EXPECT_THAT(error.what(), HasSubstr("issued all_reduce max [2] Float"));
      EXPECT_THAT(error.what(), HasSubstr("issued all_reduce max [3] Float"));
      ++failures;
    }
  };
  run_ranks(2, body, std::chrono::seconds(60), test::CollectiveOrder::kMayDiffer);
  EXPECT_EQ(failures, 2);
}

TEST(LocalGroup, MissingRankIsNamed) {
  const auto body = [](Communicator& communicator) {
    communicator.set_timeout(std::chrono::milliseconds(50));
    if (communicator.rank() != 1) {
      communicator.barrier();
    }
  };
  EXPECT_THAT(
      [&] { run_ranks(3, body); },
      ThrowsMessage<base::CommError>(HasSubstr("rank 1 did not come to collective #1 (barrier)")));
}

TEST(RunRanks, RethrowsTheFirstFailureAndReleasesTheOthers) {
  const auto body = [](Communicator& communicator) {
    if (communicator.rank() == 2) {
      throw std::runtime_error("the test's own failure");
    }
    communicator.barrier();
  };
  EXPECT_THAT([&] { run_ranks(3, body); },
              ThrowsMessage<std::runtime_error>(HasSubstr("the test's own failure")));
}

/// How often a test fails whose ranks run `body`.
int failures_of(const std::function<void(Communicator&)>& body) {
  testing::TestPartResultArray failures;
  const testing::ScopedFakeTestPartResultReporter reporter(
      testing::ScopedFakeTestPartResultReporter::INTERCEPT_ONLY_CURRENT_THREAD, &failures);
  try {
    run_ranks(2, body);
  } catch (const base::CommError&) {  // as tests expect of some bodies
  }
  return failures.size();
}

TEST(RunRanks, FailsATestWhoseRanksAskForOtherCollectives) {
  const auto sum = [](Communicator& ranks, const char* label) {
    ranks.all_reduce(at::zeros({1}), ReduceOp::kSum, label)->wait();
  };
  EXPECT_EQ(failures_of([&](Communicator& ranks) { sum(ranks, "loss"); }), 0);
  EXPECT_EQ(failures_of([&](Communicator& ranks) {
              try {
                ranks.rank() == 0 ? ranks.barrier() : sum(ranks, "loss");
              } catch (const base::CommError&) {  // swallowed by the test
              }
            }),
            1);
  EXPECT_EQ(failures_of([&](Communicator& ranks) {
              sum(ranks, "loss");
              if (ranks.rank() == 1) ranks.all_reduce(at::zeros({1}), ReduceOp::kSum);
            }),
            1)
      << "nobody waits for it";
  EXPECT_EQ(
      failures_of([&](Communicator& ranks) { sum(ranks, ranks.rank() == 0 ? "loss" : "norm"); }), 1)
      << "alike, with another meaning";
  EXPECT_EQ(failures_of([&](Communicator& ranks) {
              const auto part = ranks.split(0);
              sum(*part, ranks.rank() == 0 ? "loss" : "norm");
            }),
            1);
  EXPECT_EQ(failures_of([&](Communicator& ranks) {
              sum(ranks, ranks.rank() == 0 ? "loss" : "norm");
              throw base::CommError("expected");
            }),
            1);
}

TEST(RunRanks, TimeOutEndsWaitingRanks) {
  const auto body = [](Communicator& communicator) {
    communicator.set_timeout(std::chrono::minutes(5));
    if (communicator.rank() == 0) {
      communicator.barrier();
    }
  };
  EXPECT_THAT([&] { run_ranks(2, body, std::chrono::milliseconds(50)); },
              ThrowsMessage<base::CommError>(HasSubstr("time-out after 50 ms")));
}

}  // namespace
}  // namespace paceline::comm
