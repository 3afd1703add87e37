#include "paceline/algorithms/cutmix/cutmix.h"

#include "golden/algorithms/scripted_step.h"

#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

// What Composer's CutMix makes of images, targets, losses and gradients: make_cutmix.py.

namespace paceline::algorithms {
namespace {

using nlohmann::json;

nn::ImageSize size_in(const json& list) { return {list.at(0), list.at(1)}; }

Box box_in(const json& list) { return {list.at(0), list.at(1), list.at(2), list.at(3)}; }

/// What is cut of an image, by a box as the algorithm makes it.
Mixture mixture_of(const json& options, nn::ImageSize image) {
  Mixture mixture;
  const json& centre = options.at("centre");
  mixture.box =
      box_around(centre.at(0), centre.at(1), box_size(options.at("lambda"), image), image);
  mixture.share =
      static_cast<double>(mixture.box.area()) / static_cast<double>(image.height * image.width);
  return mixture;
}

TEST(GoldenCutmix, CutsComposersBoxes) {
  for (const json& each : golden_list("cutmix.json", "boxes")) {
    SCOPED_TRACE(each.dump());
    const Mixture mixture = mixture_of(each, size_in(each.at("image")));
    EXPECT_EQ(mixture.box, box_in(each.at("box")));
    EXPECT_NEAR(1 - mixture.share, each.at("adjusted").get<double>(), 1e-15);
  }
}

TEST(GoldenCutmix, CentresLieWhereComposersDo) {
  for (const json& each : golden_list("cutmix.json", "centres")) {
    SCOPED_TRACE(each.dump());
    const nn::ImageSize image = size_in(each.at("image"));
    const nn::ImageSize box = box_size(each.at("lambda"), image);
    const bool is_uniform = each.at("uniform_sampling");
    const CentreRange rows = centre_range(box.height, image.height, is_uniform);
    const CentreRange columns = centre_range(box.width, image.width, is_uniform);
    EXPECT_EQ(json({rows.first, rows.end}), each.at("rows"));
    EXPECT_EQ(json({columns.first, columns.end}), each.at("columns"));
  }
}

TEST(GoldenCutmix, GivesComposersImagesTargetsLossesAndGradients) {
  for (const json& each : golden_list("cutmix.json", "cases")) {
    const json& options = each.at("options");
    SCOPED_TRACE(options.dump());
    const bool interpolates = options.at("interpolate_loss");
    const at::Tensor images = golden_images({4, 3, 6, 5}, options.at("images"));
    ScriptedStep step(images, options.at("targets"));
    MixedBy by{{mixture_of(options, {6, 5})}, {}};
    by.mixtures.front().partners = options.at("permutation").get<std::vector<std::int64_t>>();
    by.partners = at::tensor(partner_rows(by.mixtures));

    const at::Tensor pasted = paste(images, by.partners, by.mixtures);
    if (!interpolates) mix_targets(step.state.batch, 5, by);
    step.forward();
    if (interpolates) mix_losses(step.state, by);
    const at::Tensor mean = step.state.loss / 4;
    mean.backward();

    EXPECT_EQ(pasted.scalar_type(), images.scalar_type());
    EXPECT_EQ(by.mixtures.front().box, box_in(each.at("box")));
    expect_golden_values("cutmix", "image", pasted, each.at("mixed"), 1e-8);
    expect_golden_values("cutmix", "target", step.target(), each.at("target"), 1e-8);
    expect_golden_values("cutmix", "partner", step.targets.index_select(0, by.partners),
                         each.at("permuted_target"), 1e-8);
    paceline::test::expect_reference("cutmix", "loss", mean.item<double>(),
                                     each.at("loss").get<double>(), 1e-6);
    expect_golden_values("cutmix", "gradient", step.network->logits.grad(), each.at("grad_logits"),
                         1e-7);
  }
}

}  // namespace
}  // namespace paceline::algorithms
