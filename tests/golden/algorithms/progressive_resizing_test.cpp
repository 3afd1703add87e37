#include "paceline/algorithms/progressive_resizing/progressive_resizing.h"

#include "golden/algorithms/scripted_step.h"

#include <cstdint>
#include <set>

#include <gtest/gtest.h>

// What Composer's ProgressiveResizing leaves of images: make_progressive_resizing.py.

namespace paceline::algorithms {
namespace {

using nlohmann::json;

nn::ImageSize golden_size(const json& sides) { return {sides.at(0), sides.at(1)}; }

double golden_scale(const json& options) {
  return ResizingChange{0, options.at("wanted"), options.at("image").at(1)}.scale();
}

TEST(GoldenResizedImages, HaveComposersSizeAndPlaces) {
  for (const json& each : golden_list("progressive_resizing.json", "sizes")) {
    SCOPED_TRACE(each.dump());
    const nn::ImageSize image = golden_size(each.at("image"));
    const nn::ImageSize kept = scaled_size(image, golden_scale(each));
    EXPECT_EQ(json({kept.height, kept.width}), each.at("kept"));
    const std::int64_t highest_row = each.at("below").at(0),
                       highest_column = each.at("below").at(1);
    for (std::int64_t step = 0; step < 20; ++step) {
      const Box piece = draw_piece({0, 1, {1, step, 0}}, kept, image);
      EXPECT_LT(piece.top, highest_row);
      EXPECT_LT(piece.left, highest_column);
    }
  }
}

TEST(GoldenResizedImages, HaveComposersPixels) {
  for (const json& each : golden_list("progressive_resizing.json", "cases")) {
    const json& options = each.at("options");
    SCOPED_TRACE(options.dump());
    const nn::ImageSize image = golden_size(options.at("image"));
    const at::Tensor images =
        golden_images({2, 3, image.height, image.width}, options.at("images"));
    const double scale = golden_scale(options);
    const nn::ImageSize kept = scaled_size(image, scale);
    at::Tensor left = images;
    if (options.at("mode") == "resize") {
      left = nearest_pixels(images, scale);
    } else if (scale < 1) {
      const std::int64_t top = options.at("place").at(0), column = options.at("place").at(1);
      left = inside(images, {top, column, top + kept.height, column + kept.width});
    }
    EXPECT_EQ(left.sizes(), at::IntArrayRef({2, 3, kept.height, kept.width}));
    expect_golden_values("progressive_resizing", "image", left, each.at("pixels"), 1e-8);
  }
}

}  // namespace
}  // namespace paceline::algorithms
