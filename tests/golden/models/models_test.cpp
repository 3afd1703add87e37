// Our models against torchvision's and timm's, by the numbers that make_models.py wrote. One
// thread.

#include "golden/models/reference_weights.h"
#include "paceline/models/builtin.h"
#include "paceline/nn/losses.h"
#include "support/one_thread.h"

#include <array>
#include <cmath>
#include <fstream>
#include <numeric>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace paceline::models {
namespace {

using nlohmann::json;
using paceline::test::OneThread;

const json& golden() {
  static const json numbers =
      json::parse(std::ifstream(std::string(PACELINE_GOLDEN_DIR) + "/models.json"));
  return numbers;
}

std::shared_ptr<nn::Network> make(const std::string& name, std::int64_t num_classes,
                                  std::int64_t img_size = 224,
                                  ResNetStem stem = ResNetStem::kImagenet) {
  Registry registry("model");
  add_builtin(registry);
  const config::ComponentEntry* entry = registry.find(name);
  PACELINE_CHECK(entry != nullptr, "no model {}", name);
  config::Component component{name, entry->info, entry->make()};
  if (name.starts_with("resnet")) {
    auto options = component.as<ResNetConfig>();
    options.num_classes = num_classes;
    options.stem = stem;
    component = config::Component::of(name, options);
  } else {
    auto options = component.as<VitConfig>();
    options.num_classes = num_classes;
    options.img_size = img_size;
    if (name == "vit") {  // TINY_VIT
      options.patch_size = 4;
      options.embed_dim = 8;
      options.depth = options.num_heads = 2;
    }
    component = config::Component::of(name, options);
  }
  return registry.build(component);
}

void expect_values(const at::Tensor& got, const json& wanted, double tolerance) {
  const auto values = wanted.get<std::vector<double>>();
  const at::Tensor flat = got.detach().to(at::kDouble).flatten();
  double largest = 0;
  for (const double value : values) largest = std::max(largest, std::abs(value));
  for (std::size_t i = 0; i < values.size(); ++i) {
    EXPECT_NEAR(flat[static_cast<std::int64_t>(i)].item<double>(), values[i], tolerance * largest);
  }
}

/// The norm, the weighted sum and the elements of a gradient or buffer. An error of one part in so
/// many in every element is an error of about as much of the norm in the sum.
void expect_summary(const at::Tensor& tensor, std::uint32_t number, const json& wanted,
                    double tolerance, double floor) {
  const auto expected = wanted.get<std::array<double, 4>>();
  const auto got = reference_summary(tensor, number);
  const double norm = std::max(tolerance * expected[0], floor);
  // `norm` bounds the errors of all elements together. That of one may be a few times their mean,
  // and the errors of a sum need not cancel: which kernels oneDNN takes for the processor decides.
  const double element = 4 * norm / std::sqrt(static_cast<double>(tensor.numel()));
  EXPECT_NEAR(got[0], expected[0], norm) << "norm";
  EXPECT_NEAR(got[1], expected[1], 4 * norm) << "weighted sum";
  for (const std::size_t i : {2U, 3U}) {
    EXPECT_NEAR(got.at(i), expected.at(i), std::max(tolerance * std::abs(expected.at(i)), element));
  }
}

/// All gradients and buffers of a model, of a small one all elements of all gradients.
void expect_state(const nn::Network& model, const json& wanted, double tolerance, double floor) {
  std::uint32_t number = 0;
  std::size_t parameters = 0;
  for (const nn::NamedTensor& item : nn::state_dict(model)) {
    SCOPED_TRACE(item.name);
    if (item.is_parameter) {
      const at::Tensor gradient = item.tensor.grad();
      expect_summary(gradient, number, wanted["gradients"].at(item.name), tolerance, floor);
      if (wanted.contains("whole_gradients"))
        expect_values(gradient, wanted["whole_gradients"].at(item.name), tolerance);
      ++parameters;
    } else {
      expect_summary(item.tensor, number, wanted["buffers"].at(item.name), tolerance, 0.0);
    }
    ++number;
  }
  EXPECT_EQ(parameters, wanted["gradients"].size());
}

void expect_case(const json& wanted) {
  const auto name = wanted["model"].get<std::string>();
  const auto size = wanted["image_size"].get<std::int64_t>();
  const bool is_double = wanted["dtype"] == "float64";
  SCOPED_TRACE(name + " " + wanted["dtype"].get<std::string>() + " at " + std::to_string(size));
  const at::ScalarType dtype = is_double ? at::kDouble : at::kFloat;
  const double tolerance = is_double ? 1e-10 : 1e-5;
  const auto stem = wanted["stem"] == "small" ? ResNetStem::kSmall : ResNetStem::kImagenet;
  const auto model = make(name, 10, size, stem);
  nn::set_dtype(*model, dtype);
  fill_reference_weights(*model, wanted["norm_bias"].get<double>());
  const at::Tensor images = reference_images(8, size, dtype);

  nn::set_training(*model, false);
  {
    const at::NoGradGuard no_grad;
    expect_values(model->forward({{"images", images.slice(0, 0, 2)}}, {}), wanted["eval_logits"],
                  tolerance);
  }
  nn::set_training(*model, true);
  const at::Tensor logits = model->forward({{"images", images}}, {});
  expect_values(logits, wanted["logits"], tolerance);
  const at::Tensor loss =
      nn::CrossEntropy({.label_smoothing = 0.1}).sum(logits, reference_labels(8, 10));
  const auto wanted_loss = wanted["loss"].get<double>();
  EXPECT_NEAR(loss.item<double>(), wanted_loss, tolerance * wanted_loss);
  loss.backward();

  // Where a gradient is zero but for rounding only its size counts.
  expect_state(*model, wanted, tolerance,
               (is_double ? 1e-12 : 1e-7) * wanted["grad_norm"].get<double>());
}

// What the comparison of large gradients rests on: their norm alone tells none of these apart.
TEST(ModelsGolden, TheWeightedSumKnowsOtherElementsOfTheSameNorm) {
  const at::Tensor gradient = reference_images(1, 16, at::kDouble).view({3, 16, 16});
  const auto wanted = reference_summary(gradient, 5);
  at::Tensor one_sign = gradient.clone();
  one_sign[1][2][3].neg_();
  at::Tensor two_swapped = gradient.clone();
  two_swapped[0][0][0] = gradient[2][15][15];
  two_swapped[2][15][15] = gradient[0][0][0];
  for (const at::Tensor& other : {gradient.transpose(1, 2), gradient.flip({0}), gradient.roll(1, 2),
                                  -gradient, one_sign, two_swapped}) {
    const auto got = reference_summary(other.contiguous(), 5);
    EXPECT_NEAR(got[0], wanted[0], 1e-12 * wanted[0]);
    EXPECT_GT(std::abs(got[1] - wanted[1]), 1e-4 * wanted[0]);
  }
}

TEST(ModelsGolden, LogitsLossGradientsAndStatisticsEqualTheReferences) {
  const OneThread one_thread;
  for (const json& wanted : golden()["cases"]) expect_case(wanted);
}

TEST(ModelsGolden, VitBaseGivesTheReferencesLogitsAtItsOwnSize) {
  const OneThread one_thread;
  const auto model = make("vit_base_patch32_224", 10);
  fill_reference_weights(*model, 0.0);
  nn::set_training(*model, false);
  const at::NoGradGuard no_grad;
  expect_values(model->forward({{"images", reference_images(1, 224, at::kFloat)}}, {}),
                golden()["base_logits"], 1e-5);
}

std::string state_hash(const torch::nn::Module& module) {
  std::uint64_t value = 0xCBF29CE484222325ull;
  for (const nn::NamedTensor& item : nn::state_dict(module)) {
    const std::string line = fmt::format("{}:{}\n", item.name, fmt::join(item.tensor.sizes(), ","));
    for (const char letter : line) {
      value = (value ^ static_cast<unsigned char>(letter)) * 0x100000001B3ull;
    }
  }
  return fmt::format("{:016x}", value);
}

TEST(ModelsGolden, StateDictsHaveTheReferencesNamesAndShapesInOrder) {
  for (const auto& [name, wanted] : golden()["state"].items()) {
    const auto model = make(name, 1000);
    std::int64_t parameters = 0;
    for (const nn::NamedTensor& item : nn::named_parameters(*model)) {
      parameters += item.tensor.numel();
    }
    EXPECT_EQ(nn::state_dict(*model).size(), wanted["entries"].get<std::size_t>()) << name;
    EXPECT_EQ(parameters, wanted["parameters"].get<std::int64_t>()) << name;
    EXPECT_EQ(state_hash(*model), wanted["hash"].get<std::string>()) << name;
  }
}

TEST(ModelsGolden, FlopsAreTheCountersOfPytorch) {
  for (const auto& [name, wanted] : golden()["flops"].items()) {
    EXPECT_DOUBLE_EQ(make(name, 1000)->flops_per_sample({{"images", {3, 224, 224}}}),
                     wanted.get<double>())
        << name;
  }
}

// Both sides are draws: means differ by a few deviations / sqrt(n), as do the second moments.
TEST(ModelsGolden, InitialWeightsHaveTheReferencesDistributions) {
  for (const auto& [name, layers] : golden()["initial"].items()) {
    const auto model = make(name, 1000);
    model->initialize(7);
    for (const nn::NamedTensor& item : nn::named_parameters(*model)) {
      if (!layers.contains(item.name)) continue;
      const auto wanted = layers[item.name].get<std::vector<double>>();
      const at::Tensor values = item.tensor.detach().to(at::kDouble);
      const double mean = values.mean().item<double>();
      const double deviation = values.std(/*unbiased=*/false).item<double>();
      const double mean_abs = values.abs().mean().item<double>();
      const double error = 7.0 * wanted[1] / std::sqrt(static_cast<double>(values.numel()));
      EXPECT_NEAR(mean, wanted[0], error) << name << " " << item.name;
      EXPECT_NEAR(deviation, wanted[1], error) << name << " " << item.name;
      EXPECT_NEAR(mean_abs, wanted[2], error) << name << " " << item.name;
    }
  }
}

}  // namespace
}  // namespace paceline::models
