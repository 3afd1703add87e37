// Ranks with less memory than others: all find the same batch, and none is left waiting.

#include "paceline/app/batch_find/rank_search.h"

#include "paceline/base/error.h"
#include "support/run_ranks.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <random>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::app {
namespace {

constexpr std::int64_t kSmallest = 8;
constexpr int kCases = 200;

const TryTold kUntold = [](const BatchTry&, const std::string&) {};

/// An allocator of one rank: the most that the moments of a step hold, and a limit.
struct UnequalRank {
  struct Moment {
    double fixed = 0;
    double per_sample = 0;
  };
  std::vector<Moment> moments;
  double limit = 0;
  bool tells_excess = true;  ///< how far beyond the limit a refused step would have gone

  double bytes(std::int64_t samples) const {
    double most = 0;
    for (const Moment& moment : moments)
      most = std::max(most, moment.fixed + moment.per_sample * static_cast<double>(samples));
    return std::ceil(most / 64) * 64;  // as allocators round
  }
  ProbeOutcome probe(std::int64_t samples) const {
    const double wanted = bytes(samples);
    if (wanted <= limit) return {true, wanted};
    return {false, tells_excess ? wanted : limit + 64};
  }
};

UnequalRank draw_rank(std::mt19937_64& draws) {
  const auto between = [&](double low, double high) {
    return std::uniform_real_distribution<double>(low, high)(draws);
  };
  UnequalRank rank;
  const double state = between(1e6, 1e8);
  for (int moment = 0; moment < 3; ++moment)
    rank.moments.push_back({state * between(0.2, 1), std::exp(between(8, 15))});
  rank.limit = state * between(0.8, 40);
  rank.tells_excess = between(0, 1) < 0.5;
  return rank;
}

bool fits_all(const std::vector<UnequalRank>& ranks, std::int64_t samples) {
  return std::ranges::all_of(
      ranks, [&](const UnequalRank& rank) { return rank.bytes(samples) <= rank.limit; });
}

/// By trying everything.
std::int64_t exhaustive_answer(const std::vector<UnequalRank>& ranks, std::int64_t most_samples) {
  for (std::int64_t samples = most_samples / kSmallest * kSmallest; samples > 0;
       samples -= kSmallest) {
    if (fits_all(ranks, samples)) return samples;
  }
  for (const std::int64_t few : {4, 2, 1}) {
    if (few <= most_samples && fits_all(ranks, few)) return few;
  }
  return 0;
}

void check_case(const std::vector<UnequalRank>& ranks, std::int64_t most_samples) {
  std::vector<std::int64_t> found(ranks.size()), tries(ranks.size());
  test::run_ranks(static_cast<int>(ranks.size()), [&](comm::Communicator& communicator) {
    const auto number = static_cast<std::size_t>(communicator.rank());
    const UnequalRank& own = ranks[number];
    const BatchSearch search = search_batch(
        communicator, own.limit, most_samples,
        [&](std::int64_t samples) { return own.probe(samples); }, kUntold);
    found[number] = search.found();
    tries[number] = std::ssize(search.tries());
  });
  const std::int64_t best = exhaustive_answer(ranks, most_samples);
  EXPECT_THAT(found, ::testing::Each(found.front()));
  EXPECT_LE(found.front(), best);
  EXPECT_LE(tries.front(), 30);
  if (best < 2 * kSmallest) {
    EXPECT_EQ(found.front(), best);
  } else if (best - found.front() > kSmallest) {
    EXPECT_GE(static_cast<double>(found.front()), 0.97 * static_cast<double>(best));
  }
}

TEST(RankSearch, RanksOfUnequalMemoryFindTheBatchThatFitsThemAll) {
  std::mt19937_64 draws(1);
  for (int number = 0; number < kCases; ++number) {
    SCOPED_TRACE(number);
    std::vector<UnequalRank> ranks(2 + draws() % 3);
    std::ranges::generate(ranks, [&] { return draw_rank(draws); });
    check_case(ranks, std::int64_t{1} << (2 + draws() % 14));
    if (::testing::Test::HasFailure()) return;
  }
}

TEST(RankSearch, TellsWhichRanksRefuse) {
  std::vector<UnequalRank> ranks(3, {.moments = {{100, 10}}, .limit = 1e6});
  ranks[1].limit = 150;
  std::vector<std::string> refusals;
  test::run_ranks(3, [&](comm::Communicator& communicator) {
    const UnequalRank& own = ranks[static_cast<std::size_t>(communicator.rank())];
    search_batch(
        communicator, own.limit, 100, [&](std::int64_t samples) { return own.probe(samples); },
        [&](const BatchTry&, const std::string& refusal) {
          if (communicator.rank() == 0) refusals.push_back(refusal);
        });
  });
  EXPECT_THAT(refusals, ::testing::ElementsAre("rank 1: at least 42 B too much",
                                               "rank 1: at least 42 B too much", ""))
      << "of 8 and of 4 samples; 2 fit";
}

TEST(RankSearch, WhatFailsOnOneRankEndsThemAll) {
  std::atomic<int> told = 0;
  test::run_ranks(3, [&](comm::Communicator& communicator) {
    try {
      search_batch(
          communicator, 1000, 100,
          [&](std::int64_t) -> ProbeOutcome {
            if (communicator.rank() == 2) throw base::DataError("a hole in a file");
            return {true, 10};
          },
          kUntold);
    } catch (const base::Error& error) {
      EXPECT_EQ(error.exit_code(), base::ExitCode::kData);
      EXPECT_THAT(error.what(), ::testing::HasSubstr("a hole in a file"));
      ++told;
    }
  });
  EXPECT_EQ(told, 3);
}

}  // namespace
}  // namespace paceline::app
