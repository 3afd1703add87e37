#include "paceline/algorithms/cutout/cutout.h"

#include "golden/algorithms/scripted_step.h"

#include <vector>

#include <gtest/gtest.h>

// What Composer's CutOut leaves of images: make_cutout.py.

namespace paceline::algorithms {
namespace {

using nlohmann::json;

TEST(GoldenCutout, LeavesWhatComposersLeaves) {
  for (const json& each : golden_list("cutout.json", "cases")) {
    const json& options = each.at("options");
    SCOPED_TRACE(options.dump());
    const nn::ImageSize image{options.at("image").at(0), options.at("image").at(1)};
    const nn::ImageSize hole = hole_size(options.at("length"), image);
    std::vector<Box> holes;
    for (const json& centre : options.at("centres"))
      holes.push_back(box_around(centre.at(0), centre.at(1), hole, image));
    const at::Tensor images =
        golden_images({2, 3, image.height, image.width}, options.at("images"));
    cut_holes(images, holes);
    expect_golden_values("cutout", "image", images, each.at("cut"), 1e-8);

    const bool is_uniform = options.at("uniform_sampling");
    const CentreRange rows = centre_range(hole.height, image.height, is_uniform);
    const CentreRange columns = centre_range(hole.width, image.width, is_uniform);
    EXPECT_EQ(json({rows.first, rows.end}), each.at("rows"));
    EXPECT_EQ(json({columns.first, columns.end}), each.at("columns"));
  }
}

}  // namespace
}  // namespace paceline::algorithms
