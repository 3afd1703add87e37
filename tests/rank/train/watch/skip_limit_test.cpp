#include "paceline/train/watch/skip_limit.h"

#include "paceline/base/error.h"
#include "support/run_ranks.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::train {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::ThrowsMessage;

TEST(SkipLimit, NamesTheNewestOfAFewRanks) {
  paceline::test::run_ranks(6, [](comm::Communicator& communicator) {
    SkipLimit limit(3);
    EXPECT_EQ(limit.describe(communicator), "");
    if (communicator.rank() > 0) {
      limit.add(
          std::vector<std::string>{"older.jpg", fmt::format("of_{}.jpg", communicator.rank())});
      limit.add({});
    }
    limit.check(3, "epoch 2", communicator);
    EXPECT_THAT([&] { limit.check(4, "epoch 2", communicator); },
                ThrowsMessage<base::DataError>(
                    AllOf(HasSubstr("4 samples of epoch 2"), HasSubstr("allows 3"),
                          HasSubstr("of_1.jpg; of_2.jpg"), HasSubstr("of_4.jpg"),
                          Not(HasSubstr("of_5.jpg")), Not(HasSubstr("older.jpg")))));
  });
}

}  // namespace
}  // namespace paceline::train
