// The network of airbench94 and its whitening against PyTorch and NumPy, by the numbers that
// make_airbench.py wrote. One thread.

#include "golden/models/reference_expectations.h"
#include "paceline/models/airbench/airbench94.h"
#include "support/one_thread.h"

#include <fstream>
#include <string>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace paceline::models {
namespace {

using nlohmann::json;

const json& airbench_golden() {
  static const json numbers =
      json::parse(std::ifstream(std::string(PACELINE_GOLDEN_DIR) + "/airbench.json"));
  return numbers;
}

TEST(GoldenAirbench94, HasTheNamesShapesAndCostsOfTheReference) {
  const Airbench94 model({});
  expect_names(model, airbench_golden()["state"]);
  EXPECT_DOUBLE_EQ(model.flops_per_sample({{"images", {3, 224, 224}}}),
                   airbench_golden()["flops"].get<double>());
}

TEST(GoldenAirbench94, ComputesTheReferencesNumbers) {
  const paceline::test::OneThread one_thread;
  for (const json& each : airbench_golden()["cases"]) {
    for (const std::string dtype : each["dtypes"]) {
      SCOPED_TRACE(each["image_size"].dump() + " " + dtype);
      Airbench94 model({.widths = each["widths"]});
      for (const nn::NamedTensor& parameter : nn::named_parameters(model))
        parameter.tensor.set_requires_grad(true);
      expect_numbers(model, each, each["image_size"].get<std::int64_t>(),
                     dtype == "float64" ? at::kDouble : at::kFloat, /*norm_bias=*/0.0);
    }
  }
}

TEST(GoldenAirbench94, StartsAsTheReferenceDoes) {
  expect_distributions(Airbench94({}), airbench_golden()["initial"]);
}

TEST(GoldenAirbench94, WhitensByTheEigenvectorsOfNumPy) {
  for (const json& each : airbench_golden()["filters"]) {
    const auto pixels = each["images"].get<std::vector<double>>();
    const at::Tensor images =
        at::tensor(pixels, at::kDouble).view(each["shape"].get<std::vector<std::int64_t>>());
    const at::Tensor filters = whitening_filters(images, each["patch"], each["eps"]);
    EXPECT_EQ(filters.scalar_type(), at::kFloat);
    expect_values({"airbench94, float32", "whitening filters"}, filters, each["filters"], 1e-6);
  }
}

}  // namespace
}  // namespace paceline::models
