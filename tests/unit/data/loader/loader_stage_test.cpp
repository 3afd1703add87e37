#include "paceline/data/loader/loader_stage.h"

#include "paceline/data/loader/loader.h"

#include <gtest/gtest.h>

namespace paceline::data {
namespace {

TEST(LimitingStage, TakesTheMostTime) {
  EXPECT_EQ(limiting_stage({3, 2, 1, 10}), LoaderStage::kRead);
  EXPECT_EQ(limiting_stage({1, 3, 2, 10}), LoaderStage::kDecode);
  EXPECT_EQ(limiting_stage({1, 2, 3, 10}), LoaderStage::kTransform);
  EXPECT_EQ(name_of(limiting_stage({1, 3, 2, 10})), "decoding");
}

}  // namespace
}  // namespace paceline::data
