#include "paceline/algorithms/colout/colout.h"

#include "golden/algorithms/scripted_step.h"

#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

// Which lines Composer's ColOut keeps of images: make_colout.py.

namespace paceline::algorithms {
namespace {

using nlohmann::json;

TEST(GoldenColout, KeepsAsManyLinesAsComposers) {
  for (const json& each : golden_list("colout.json", "sizes")) {
    SCOPED_TRACE(each.dump());
    const nn::ImageSize kept = kept_size({.p_row = each.at("p_row"), .p_col = each.at("p_col")},
                                         {each.at("image").at(0), each.at("image").at(1)});
    EXPECT_EQ(json({kept.height, kept.width}), each.at("kept"));
  }
}

TEST(GoldenColout, KeepsComposersLines) {
  for (const json& each : golden_list("colout.json", "cases")) {
    const json& options = each.at("options");
    SCOPED_TRACE(options.dump());
    const nn::ImageSize image{options.at("image").at(0), options.at("image").at(1)};
    const nn::ImageSize kept =
        kept_size({.p_row = options.at("p_row"), .p_col = options.at("p_col")}, image);
    const auto drawn = [&](const char* key) {
      return options.at(key).get<std::vector<std::int64_t>>();
    };
    const at::Tensor images =
        golden_images({2, 3, image.height, image.width}, options.at("images"));
    const at::Tensor got =
        thinned(images, at::tensor(first_sorted(drawn("row_permutation"), kept.height)),
                at::tensor(first_sorted(drawn("column_permutation"), kept.width)));
    EXPECT_EQ(got.sizes(), at::IntArrayRef({2, 3, kept.height, kept.width}));
    expect_golden_values("colout", "image", got, each.at("kept"), 1e-8);
  }
}

}  // namespace
}  // namespace paceline::algorithms
