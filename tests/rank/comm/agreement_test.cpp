#include "paceline/comm/agreement.h"

#include "paceline/base/error.h"
#include "support/run_ranks.h"

#include <atomic>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::comm {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(Agree, PassesWhenAllRanksBringTheSame) {
  test::run_ranks(3, [](Communicator& communicator) {
    agree(communicator, {{"version", "1"}, {"optimizer.lr", "0.1"}});
  });
}

TEST(Agree, NamesRankKeyAndBothValuesOnEveryRank) {
  std::atomic<int> failures = 0;
  test::run_ranks(3, [&](Communicator& communicator) {
    std::map<std::string, std::string> facts{{"version", "1"}, {"optimizer.lr", "0.1"}};
    if (communicator.rank() == 2) {
      facts["optimizer.lr"] = "0.2";
      facts["data.extra"] = "x";
    }
    try {
      agree(communicator, facts);
    } catch (const base::ConfigError& error) {
      EXPECT_THAT(error.what(), AllOf(HasSubstr("optimizer.lr: rank 2 has '0.2', rank 0 has '0.1'"),
                                      HasSubstr("data.extra: rank 2 has 'x', rank 0 has nothing"),
                                      Not(HasSubstr("version")), Not(HasSubstr("rank 1 "))));
      ++failures;
    }
  });
  EXPECT_EQ(failures, 3);
}

}  // namespace
}  // namespace paceline::comm
