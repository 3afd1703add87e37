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

/// As single operations do it.
at::Tensor mixed_by_operations(const at::Tensor& values, const at::Tensor& partners,
                               const Mixture& mixture) {
  return values * (1.0 - mixture.share) + values.index_select(0, partners) * mixture.share;
}

TEST(Mixture, RoundsProductsAndSumInAnyLayoutAndType) {
  const Mixture mixture{0.4413406, {2, 0, 3, 1}};
  const at::Tensor partners = at::tensor(mixture.partners);
  const at::Tensor images = at::sin(at::arange(4 * 3 * 5 * 7, at::kFloat)).view({4, 3, 5, 7});
  const at::Tensor strided = at::sin(at::arange(8 * 3, at::kFloat)).view({8, 3}).slice(0, 0, 8, 2);
  for (const at::Tensor& values :
       {images, images.contiguous(at::MemoryFormat::ChannelsLast), images.to(at::kDouble),
        images.to(at::kBFloat16), strided, images.flatten().narrow(0, 3, 4)}) {
    const at::Tensor mixed = mix(values, partners, std::span(&mixture, 1));
    EXPECT_TRUE(mixed.equal(mixed_by_operations(values, partners, mixture))) << values.dtype();
    EXPECT_EQ(mixed.suggest_memory_format(), values.suggest_memory_format());
  }
}

TEST(Mixture, KeepsWhatLeadsToGradients) {
  const Mixture mixture{0.25, {1, 0}};
  const at::Tensor values = at::ones({2, 3}).requires_grad_();
  EXPECT_TRUE(mix(values, at::tensor(mixture.partners), std::span(&mixture, 1)).requires_grad());
}

TEST(Mixture, OfSeveralGroupsPastesEachBox) {
  const at::Tensor images = at::arange(16, at::kFloat).view({4, 1, 2, 2});
  const at::Tensor pasted = paste(images, at::tensor(partner_rows(kTwoGroups)), kTwoGroups);
  EXPECT_TRUE(pasted.view({4, 4}).equal(
      at::tensor({4, 1, 2, 3, 0, 5, 6, 7, 8, 9, 14, 15, 12, 13, 10, 11}, at::kFloat).view({4, 4})));
  EXPECT_TRUE(images.equal(at::arange(16, at::kFloat).view({4, 1, 2, 2})));
}

TEST(Mixture, PastesInAnyLayout) {
  const at::Tensor images = at::arange(4 * 3 * 5 * 7, at::kFloat).view({4, 3, 5, 7});
  const std::vector<Mixture> mixtures{{0, {2, 0, 3, 1}, {1, 2, 4, 6}}};
  const at::Tensor partners = at::tensor(partner_rows(mixtures));
  const at::Tensor pasted = paste(images, partners, mixtures);
  EXPECT_TRUE(inside(pasted, mixtures[0].box)
                  .equal(inside(images, mixtures[0].box).index_select(0, partners)));
  const at::Tensor last =
      paste(images.contiguous(at::MemoryFormat::ChannelsLast), partners, mixtures);
  EXPECT_TRUE(last.is_contiguous(at::MemoryFormat::ChannelsLast));
  EXPECT_TRUE(last.equal(pasted));
}

TEST(Mixture, OfNothingLeavesAGroupAsItIs) {
  const Mixture nothing = no_mixture({2, 3, {}});
  EXPECT_EQ(nothing.share, 0);
  EXPECT_EQ(nothing.box.area(), 0);
  EXPECT_THAT(nothing.partners, ElementsAre(2, 3, 4));
}

}  // namespace
}  // namespace paceline::algorithms
