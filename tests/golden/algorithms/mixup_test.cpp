#include "paceline/algorithms/mixup/mixup.h"

#include "golden/algorithms/scripted_step.h"

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
    const bool interpolates = options.at("interpolate_loss");
    const at::Tensor images = golden_images({4, 3, 3, 2}, options.at("images"));
    ScriptedStep step(images, options.at("targets"));
    MixedBy by{{{options.at("mixing"), options.at("permutation")}}, {}};
    by.partners = at::tensor(partner_rows(by.mixtures));

    const at::Tensor mixed = mix(images, by.partners, by.mixtures);
    if (!interpolates) mix_targets(step.state.batch, 5, by);
    step.forward();
    if (interpolates) mix_losses(step.state, by);
    const at::Tensor mean = step.state.loss / 4;
    mean.backward();

    EXPECT_EQ(mixed.scalar_type(), images.scalar_type());
    expect_golden_values("mixup", "image", mixed, each.at("mixed"), 1e-8);
    expect_golden_values("mixup", "target", step.target(), each.at("target"), 1e-8);
    expect_golden_values("mixup", "partner", step.targets.index_select(0, by.partners),
                         each.at("permuted_target"), 1e-8);
    paceline::test::expect_reference("mixup", "loss", mean.item<double>(),
                                     each.at("loss").get<double>(), 1e-6);
    expect_golden_values("mixup", "gradient", step.network->logits.grad(), each.at("grad_logits"),
                         1e-7);
  }
}

}  // namespace
}  // namespace paceline::algorithms
