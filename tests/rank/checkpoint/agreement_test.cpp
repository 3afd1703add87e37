#include "paceline/checkpoint/agreement.h"

#include "paceline/base/error.h"
#include "support/run_ranks.h"

#include <stdexcept>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace paceline::checkpoint {
namespace {

/// What each rank's on_all_ranks threw, or "" where it returned.
std::vector<std::string> outcomes(const std::vector<std::string>& problems) {
  std::vector<std::string> results(problems.size());
  test::run_ranks(static_cast<int>(problems.size()), [&](comm::Communicator& communicator) {
    const auto rank = static_cast<std::size_t>(communicator.rank());
    try {
      on_all_ranks(communicator, "not saved", [&] {
        if (!problems[rank].empty()) throw std::runtime_error(problems[rank]);
      });
    } catch (const base::CheckpointError& error) {
      results[rank] = error.what();
    }
  });
  return results;
}

TEST(OnAllRanks, ReturnsWhereAllSucceed) {
  EXPECT_EQ(outcomes({"", "", ""}), (std::vector<std::string>{"", "", ""}));
}

TEST(OnAllRanks, OneFailureReachesAll) {
  const std::string expected = "not saved: rank 1: disk full";
  EXPECT_EQ(outcomes({"", "disk full", ""}), (std::vector<std::string>(3, expected)));
}

TEST(OnAllRanks, ASharedCauseIsToldOnceAndOthersApart) {
  EXPECT_EQ(outcomes({"no file", "no file"})[1], "not saved: no file");
  EXPECT_EQ(outcomes({"a", "", "b"})[1], "not saved: rank 0: a; rank 2: b");
}

}  // namespace
}  // namespace paceline::checkpoint
