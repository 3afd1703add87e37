#include "paceline/data/transforms/named/geometry/elastic_transform.h"

#include "paceline/base/error.h"
#include "unit/data/transforms/named/drawn_plan.h"

#include <gtest/gtest.h>

namespace paceline::data {
namespace {

TEST(ElasticTransform, DrawsTheNoisesSeed) {
  const auto step_of = [](std::uint64_t position) {
    return std::get<ElasticStep>(plan_of(ElasticTransformConfig{}, {60, 80}, position).at(0));
  };
  EXPECT_TRUE(step_of(0).is_linear);
  EXPECT_NE(step_of(0).seed, step_of(1).seed);
}

TEST(ElasticTransform, RefusesOtherFiltersAndSmallImages) {
  const ElasticTransformConfig cubic{.interpolation = AffineInterpolation::kBicubic};
  EXPECT_THROW(make(cubic)->check(), base::ConfigError);
  EXPECT_THROW(plan_of(ElasticTransformConfig{}, {20, 80}, 0), base::DataError);
  EXPECT_NO_THROW(plan_of(ElasticTransformConfig{}, {21, 80}, 0));
}

}  // namespace
}  // namespace paceline::data
