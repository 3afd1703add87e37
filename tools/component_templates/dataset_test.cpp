#include "paceline/data/sources/new_part.h"

#include <gtest/gtest.h>

namespace paceline::data {
namespace {

TEST(NewPart, OpensBothSplits) {
  const NewPartConfig config{.num_samples = 5};
  const auto train = open(config, Split::kTrain);
  EXPECT_EQ(train->size(), 5);
  EXPECT_NE(train->fingerprint(), open(config, Split::kVal)->fingerprint());
  StoredSample sample;
  train->get(3, sample);
  EXPECT_EQ(sample.label, 1);
  EXPECT_EQ(sample.bytes.size(), 3u * 32 * 32);
}

TEST(NewPart, HasTransformsOfItsSize) {
  const auto plan = make(NewPartConfig{});
  EXPECT_EQ(plan->default_image_size, 32);
  EXPECT_FALSE(plan->train_transforms(32, Augmentation::kWeak).empty());
}

}  // namespace
}  // namespace paceline::data
