#include "paceline/algorithms/selective_backprop/selective_backprop.h"

#include "golden/algorithms/golden_values.h"
#include "support/small_net.h"

#include <numeric>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

// When and what Composer's SelectiveBackprop chooses: make_selective_backprop.py.

namespace paceline::algorithms {
namespace {

using nlohmann::json;
using paceline::test::wave;

TEST(GoldenSelectiveBackprop, MomentsAreComposers) {
  for (const json& each : golden_list("selective_backprop.json", "moments")) {
    const json& config = each["config"];
    EXPECT_EQ(selects_samples({.start = config["start"],
                               .end = config["end"],
                               .keep = config["keep"],
                               .interrupt = config["interrupt"]},
                              each["elapsed"], each["batch"]),
              each["selects"].get<bool>())
        << each;
  }
}

/// Of the file's model.
at::Tensor losses_of(const at::Tensor& images) {
  const std::int64_t height = images.size(2), width = images.size(3);
  const at::Tensor ramp = at::linspace(0, 1, height * width, at::kDouble).view({height, width});
  const at::Tensor logits = at::linear((images * ramp).mean({2, 3}), wave({4, 3}, 2) * 8);
  const at::Tensor labels = at::arange(images.size(0), at::kLong).remainder(4);
  return at::cross_entropy_loss(logits, labels, {}, at::Reduction::None);
}

TEST(GoldenSelectiveBackprop, ChoicesAreComposers) {
  for (const json& each : golden_list("selective_backprop.json", "choices")) {
    SCOPED_TRACE(each["places"].dump());
    const std::int64_t size = each["num_samples"];
    std::vector<double> weights = selection_weights(size, each["keep"]);
    const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
    expect_golden_values("selective_backprop", "probabilities of places",
                         at::tensor(weights, at::kDouble) / sum, each["p"], 1e-12);
    const at::Tensor images = wave({size, 3, 6, 5}, 1);
    const double scale = each["scale_factor"];
    const at::Tensor losses = losses_of(scale < 1 ? smaller_images(images, scale) : images);
    const at::Tensor rows =
        rows_at(at::tensor(each["places"].get<std::vector<std::int64_t>>(), at::kLong), losses);
    EXPECT_TRUE(rows.equal(at::tensor(each["rows"].get<std::vector<std::int64_t>>(), at::kLong)));
  }
}

}  // namespace
}  // namespace paceline::algorithms
