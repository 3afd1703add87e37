#include "paceline/comm/agreement.h"

#include "paceline/base/error.h"
#include "support/run_ranks.h"

#include <atomic>
#include <chrono>
#include <new>
#include <thread>

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

TEST(IsSameOnAllRanks, IsFalseOnEveryRankWhereOneDiffers) {
  test::run_ranks(3, [](Communicator& communicator) {
    EXPECT_TRUE(is_same_on_all_ranks(communicator, "a model"));
    EXPECT_FALSE(
        is_same_on_all_ranks(communicator, communicator.rank() == 1 ? "another model" : "a model"));
  });
}

TEST(FirstRankDecides, AllRanksHearRankZero) {
  test::run_ranks(3, [](Communicator& communicator) {
    const std::string own = fmt::format("from rank {}", communicator.rank());
    EXPECT_EQ(first_rank_decides(communicator, [&] { return own; }), "from rank 0");
  });
}

TEST(FirstRankDecides, ItsErrorIsEveryRanksError) {
  std::atomic<int> failures = 0;
  test::run_ranks(3, [&](Communicator& communicator) {
    try {
      first_rank_decides(communicator, [&]() -> std::string {
        throw base::DataError(fmt::format("rank {} found nothing", communicator.rank()));
      });
    } catch (const base::Error& error) {
      EXPECT_EQ(error.exit_code(), base::ExitCode::kData);
      EXPECT_STREQ(error.what(), "rank 0 found nothing");
      ++failures;
    }
  });
  EXPECT_EQ(failures, 3);
}

TEST(MaxOverRanks, IsTheLargestOnAllRanks) {
  test::run_ranks(3, [](Communicator& communicator) {
    EXPECT_EQ(max_over_ranks(communicator, -5 - communicator.rank() % 2), -5);
    EXPECT_EQ(max_over_ranks(communicator, std::int64_t{1} << (40 + communicator.rank())),
              std::int64_t{1} << 42);
  });
}

TEST(FirstRankDecides, MayTakeLongerThanACollective) {
  test::run_ranks(2, [](Communicator& communicator) {
    communicator.set_timeout(std::chrono::seconds(2));
    const std::string answer = first_rank_decides(communicator, [] {
      std::this_thread::sleep_for(std::chrono::seconds(4));
      return std::string("late");
    });
    PACELINE_CHECK(answer == "late", "got {}", answer);
  });
}

TEST(FirstRankDecides, AnyFailureReachesAllRanks) {
  test::run_ranks(2, [](Communicator& communicator) {
    EXPECT_THROW(first_rank_decides(communicator, []() -> std::string { throw std::bad_alloc(); }),
                 base::Error);
  });
}

TEST(FirstOfPlaceDecides, RanksHearTheFirstOfTheirPlace) {
  test::run_ranks(4, [](Communicator& communicator) {
    const int rank = communicator.rank();
    const std::string heard =
        first_of_place_decides(communicator, rank % 2 == 0 ? "even" : "odd", [&] {
          if (rank == 1) std::this_thread::sleep_for(std::chrono::milliseconds(500));
          return fmt::format("from rank {}", rank);
        });
    EXPECT_EQ(heard, fmt::format("from rank {}", rank % 2));
  });
}

TEST(FirstOfPlaceDecides, AllRanksFailWithOnePlace) {
  std::atomic<int> failures = 0;
  test::run_ranks(4, [&](Communicator& communicator) {
    try {
      first_of_place_decides(communicator, communicator.rank() < 2 ? "a" : "b",
                             [&]() -> std::string {
                               if (communicator.rank() == 2) throw base::DataError("no such file");
                               return "fine";
                             });
    } catch (const base::Error& error) {
      EXPECT_EQ(error.exit_code(), base::ExitCode::kData);
      EXPECT_STREQ(error.what(), "no such file");
      ++failures;
    }
  });
  EXPECT_EQ(failures, 4);
}

}  // namespace
}  // namespace paceline::comm
