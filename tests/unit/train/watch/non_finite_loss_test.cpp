#include "paceline/train/watch/non_finite_loss.h"

#include "paceline/base/error.h"
#include "support/run_ranks.h"

#include <numeric>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::train {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

/// What all ranks throw, where each has so many bad samples.
std::string message_of(const std::vector<int>& samples_of_rank) {
  std::string message;
  test::run_ranks(static_cast<int>(samples_of_rank.size()), [&](comm::Communicator& communicator) {
    const auto rank = static_cast<std::size_t>(communicator.rank());
    std::vector<std::int64_t> own(static_cast<std::size_t>(samples_of_rank[rank]));
    std::iota(own.begin(), own.end(), 100 * communicator.rank());
    const auto name = [](std::int64_t index) { return fmt::format("{}.jpg", index); };
    try {
      refuse_non_finite_loss(7, own, name, communicator);
    } catch (const base::DivergedError& error) {
      if (rank == 0) message = error.what();
    }
  });
  return message;
}

TEST(NonFiniteLoss, NamesFilesByRankAndACure) {
  EXPECT_THAT(message_of({0, 2}),
              AllOf(HasSubstr("step 7 is not finite; on rank 1 with samples 100.jpg, 101.jpg. "),
                    Not(HasSubstr("rank 0")), HasSubstr("Lower optimizer.lr")));
}

TEST(NonFiniteLoss, OfManyEightAreNamed) {
  EXPECT_THAT(message_of({6, 6}),
              AllOf(HasSubstr("5.jpg; on rank 1 with samples 100.jpg, 101.jpg and 4 others"),
                    Not(HasSubstr("102.jpg"))));
  EXPECT_THAT(message_of({20}), AllOf(HasSubstr("7.jpg and 12 others"), Not(HasSubstr(" 8.jpg"))));
}

}  // namespace
}  // namespace paceline::train
