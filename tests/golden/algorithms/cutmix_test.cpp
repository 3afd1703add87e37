#include "paceline/algorithms/cutmix/cutmix.h"

#include "golden/algorithms/mixed_step.h"

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
    Mixture mixture = mixture_of(options, {6, 5});
    EXPECT_EQ(mixture.box, box_in(each.at("box")));
    mixture.partners = options.at("permutation").get<std::vector<std::int64_t>>();
    expect_mixed_step("cutmix", each, golden_images({4, 3, 6, 5}, options.at("images")), mixture,
                      [](const at::Tensor& images, const MixedBy& by) {
                        return paste(images, by.partners, by.mixtures);
                      });
  }
}

}  // namespace
}  // namespace paceline::algorithms
