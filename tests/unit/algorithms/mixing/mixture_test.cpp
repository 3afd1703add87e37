#include "paceline/algorithms/mixing/mixture.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::algorithms {
namespace {

using ::testing::ElementsAre;

const std::vector<Mixture> kTwoGroups{{0.25, {1, 0}, {0, 0, 1, 1}}, {0.5, {3, 2}, {1, 0, 2, 2}}};

TEST(Mixture, OfSeveralGroupsKeepsEachShare) {
  const at::Tensor partners = at::tensor(partner_rows(kTwoGroups));
  EXPECT_TRUE(partners.equal(at::tensor({1, 0, 3, 2}, at::kLong)));
  const at::Tensor values = at::tensor({0.0, 4.0, 8.0, 16.0}, at::kFloat).unsqueeze(1);
  EXPECT_TRUE(mix(values, partners, kTwoGroups)
                  .equal(at::tensor({1.0, 3.0, 12.0, 12.0}, at::kFloat).unsqueeze(1)));
}

TEST(Mixture, OfSeveralGroupsPastesEachBox) {
  const at::Tensor images = at::arange(16, at::kFloat).view({4, 1, 2, 2});
  const at::Tensor pasted = paste(images, at::tensor(partner_rows(kTwoGroups)), kTwoGroups);
  EXPECT_TRUE(pasted.view({4, 4}).equal(
      at::tensor({4, 1, 2, 3, 0, 5, 6, 7, 8, 9, 14, 15, 12, 13, 10, 11}, at::kFloat).view({4, 4})));
  EXPECT_TRUE(images.equal(at::arange(16, at::kFloat).view({4, 1, 2, 2})));
}

TEST(Mixture, OfNothingLeavesAGroupAsItIs) {
  const Mixture nothing = no_mixture({2, 3, {}});
  EXPECT_EQ(nothing.share, 0);
  EXPECT_EQ(nothing.box.area(), 0);
  EXPECT_THAT(nothing.partners, ElementsAre(2, 3, 4));
}

}  // namespace
}  // namespace paceline::algorithms
