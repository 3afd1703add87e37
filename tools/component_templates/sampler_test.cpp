#include "paceline/data/loader/new_part.h"
#include "paceline/data/sources/synthetic.h"

#include <gtest/gtest.h>

namespace paceline::data {
namespace {

TEST(NewPart, SeesEverySampleOnceAnEpoch) {
  const auto dataset = open(SyntheticConfig{.num_samples = 5}, Split::kTrain);
  const auto sampler = make(NewPartConfig{.turn = 2}, *dataset, 1);
  EXPECT_EQ(sampler->places_per_epoch(), 5);
  EXPECT_EQ(sampler->at(0, 4), 4);
  EXPECT_EQ(sampler->at(1, 4), 1);
}

}  // namespace
}  // namespace paceline::data
