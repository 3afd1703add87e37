#include "paceline/algorithms/mixup/mixup.h"

#include "unit/algorithms/image_step.h"

#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::algorithms {
namespace {

using ::testing::DoubleEq;
using ::testing::ElementsAre;

SampleGroup mixup_group(std::int64_t position) { return {0, 4, {3, 5, position}}; }

// Numbers of a Philox of its own, in Python: a recipe of old must give what it gave.
TEST(MixupDraws, StayWhatTheyAre) {
  const Mixture first = draw_mixture({}, mixup_group(0));
  EXPECT_THAT(first.share, DoubleEq(0.001938603346755817));
  EXPECT_THAT(first.partners, ElementsAre(0, 2, 1, 3));
  const Mixture second = draw_mixture({}, mixup_group(16));
  EXPECT_THAT(second.share, DoubleEq(0.44134068048599984));
  EXPECT_THAT(second.partners, ElementsAre(3, 2, 1, 0));
}

TEST(MixupDraws, AreOfAnyShareUnlessFolded) {
  int num_large = 0;
  for (std::int64_t position = 0; position < 100; ++position) {
    const double share = draw_mixture({.alpha = 1, .fold = false}, mixup_group(position)).share;
    num_large += share > 0.5;
    EXPECT_EQ(draw_mixture({.alpha = 1}, mixup_group(position)).share, std::min(share, 1 - share));
  }
  EXPECT_GT(num_large, 25);
}

TEST(MixupDraws, OfAlphaZeroMixNothing) {
  EXPECT_EQ(draw_mixture({.alpha = 0, .fold = false}, mixup_group(0)).share, 0);
}

class MixupTest : public ImageStep {};

TEST_F(MixupTest, TellsWhatSamplesKeepOfThemselves) {
  Mixup mixup({});
  mixup.apply(train::Event::kPrepared, state_, run_);
  for (int step = 0; step < 2; ++step) {
    mixup.apply(train::Event::kStepStart, state_, run_);
    transformed(mixup);
    transformed(mixup);  // another microbatch
    const double share = draw_mixture({}, {0, 3, {run_.seed, step, 0}}).share;
    EXPECT_THAT(mixup.scalars(), ElementsAre(DoubleEq(1 - share)));
    ++state_.clock.step;
  }
  EXPECT_EQ(mixup.traits().scalars.size(), mixup.scalars().size());
}

}  // namespace
}  // namespace paceline::algorithms
