#include "paceline/algorithms/mixup/mixup.h"

#include "golden/algorithms/mixed_step.h"

#include <gtest/gtest.h>

// What Composer's MixUp makes of images, targets, losses and gradients: make_mixup.py.

namespace paceline::algorithms {
namespace {

using nlohmann::json;

TEST(GoldenMixup, FoldsSharesAsComposerDoes) {
  for (const json& each : golden_list("mixup.json", "folds"))
    EXPECT_EQ(folded(each.at("drawn")), each.at("mixing").get<double>());
}

TEST(GoldenMixup, GivesComposersImagesTargetsLossesAndGradients) {
  for (const json& each : golden_list("mixup.json", "cases")) {
    const json& options = each.at("options");
    SCOPED_TRACE(options.dump());
    expect_mixed_step("mixup", each, golden_images({4, 3, 3, 2}, options.at("images")),
                      {options.at("mixing"), options.at("permutation")},
                      [](const at::Tensor& images, const MixedBy& by) {
                        return mix(images, by.partners, by.mixtures);
                      });
  }
}

}  // namespace
}  // namespace paceline::algorithms
