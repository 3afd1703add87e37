#pragma once

#include "golden/models/reference_weights.h"
#include "paceline/nn/losses.h"
#include "paceline/nn/network.h"
#include "support/parity.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace paceline::models {

// A model against the numbers that make_models.py and its like write.

/// In float32 1e-5 beside the reference on one processor, as docs/parity.md has it; another one's
/// kernels add up in another order.
inline double reference_tolerance(at::ScalarType dtype) {
  return dtype == at::kDouble ? 1e-10 : 2e-5;
}

/// What differs, for docs/parity.md.
struct Compared {
  std::string model;     ///< with the type in which it computes
  std::string quantity;  ///< "logits"

  void note(double difference, double size) const {
    if (size > 0)
      paceline::test::note_difference(model, quantity + ", of the largest", difference / size);
  }
};

inline std::string compared_model(const std::string& name, at::ScalarType dtype) {
  return name + (dtype == at::kDouble ? ", float64" : ", float32");
}

/// All elements, within a share of the largest, or within `floor` where that is larger than all.
inline void expect_values(const Compared& compared, const at::Tensor& got,
                          const nlohmann::json& wanted, double tolerance, double floor = 0.0) {
  const auto values = wanted.get<std::vector<double>>();
  const at::Tensor flat = got.detach().to(at::kDouble).flatten();
  double largest = 0;
  for (const double value : values) largest = std::max(largest, std::abs(value));
  const double error = largest < floor ? floor : tolerance * largest;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double value = flat[static_cast<std::int64_t>(i)].item<double>();
    EXPECT_NEAR(value, values[i], error);
    if (largest >= floor) compared.note(std::abs(value - values[i]), largest);
  }
}

/// The norm, the weighted sum and the elements of a gradient or buffer. An error of one part in so
/// many in every element is an error of about as much of the norm in the sum.
inline void expect_summary(const Compared& compared, const at::Tensor& tensor, std::uint32_t number,
                           const nlohmann::json& wanted, double tolerance, double floor) {
  const auto expected = wanted.get<std::array<double, 4>>();
  const auto got = reference_summary(tensor, number);
  const double norm = std::max(tolerance * expected[0], floor);
  // `norm` bounds the errors of all elements together. That of one may be a few times their mean,
  // and the errors of a sum need not cancel: which kernels oneDNN takes for the processor decides.
  const double element = 4 * norm / std::sqrt(static_cast<double>(tensor.numel()));
  EXPECT_NEAR(got[0], expected[0], norm) << "norm";
  if (expected[0] >= floor) compared.note(std::abs(got[0] - expected[0]), expected[0]);
  EXPECT_NEAR(got[1], expected[1], 4 * norm) << "weighted sum";
  for (const std::size_t i : {2U, 3U}) {
    EXPECT_NEAR(got.at(i), expected.at(i), std::max(tolerance * std::abs(expected.at(i)), element));
  }
}

/// All gradients and buffers of a model, of a small one all elements of all gradients.
inline void expect_state(const std::string& compared, const nn::Network& model,
                         const nlohmann::json& wanted, double tolerance, double floor) {
  std::uint32_t number = 0;
  std::size_t parameters = 0;
  for (const nn::NamedTensor& item : nn::state_dict(model)) {
    SCOPED_TRACE(item.name);
    if (item.is_parameter) {
      const at::Tensor gradient = item.tensor.grad();
      expect_summary({compared, "gradients' norms"}, gradient, number,
                     wanted["gradients"].at(item.name), tolerance, floor);
      if (wanted.contains("whole_gradients"))
        expect_values({compared, "gradients"}, gradient, wanted["whole_gradients"].at(item.name),
                      tolerance, floor);
      ++parameters;
    } else {
      expect_summary({compared, "statistics' norms"}, item.tensor, number,
                     wanted["buffers"].at(item.name), tolerance, 0.0);
    }
    ++number;
  }
  EXPECT_EQ(parameters, wanted["gradients"].size());
}

/// Logits and loss of a pass over a batch of eight images, which leaves gradients.
inline void expect_pass(nn::Network& model, const nlohmann::json& wanted, const at::Tensor& images,
                        double norm_bias) {
  const at::ScalarType dtype = images.scalar_type();
  const double tolerance = reference_tolerance(dtype);
  const std::string compared = compared_model(wanted["model"].get<std::string>(), dtype);
  nn::set_dtype(model, dtype);
  fill_reference_weights(model, norm_bias);

  nn::set_training(model, false);
  {
    const at::NoGradGuard no_grad;
    expect_values({compared, "logits"}, model.forward({{"images", images.slice(0, 0, 2)}}, {}),
                  wanted["eval_logits"], tolerance);
  }
  nn::set_training(model, true);
  const at::Tensor logits = model.forward({{"images", images}}, {});
  expect_values({compared, "logits"}, logits, wanted["logits"], tolerance);
  const at::Tensor loss =
      nn::CrossEntropy({.label_smoothing = 0.1}).sum(logits, reference_labels(8, 10));
  const auto wanted_loss = wanted["loss"].get<double>();
  EXPECT_NEAR(loss.item<double>(), wanted_loss, tolerance * wanted_loss);
  Compared{compared, "loss"}.note(std::abs(loss.item<double>() - wanted_loss), wanted_loss);
  loss.backward();
}

/// Of square images with three channels.
inline void expect_pass(nn::Network& model, const nlohmann::json& wanted, std::int64_t size,
                        at::ScalarType dtype, double norm_bias) {
  expect_pass(model, wanted, reference_images(8, size, dtype), norm_bias);
}

/// The same, with the gradients and statistics.
inline void expect_numbers(nn::Network& model, const nlohmann::json& wanted,
                           const at::Tensor& images, double norm_bias) {
  const at::ScalarType dtype = images.scalar_type();
  expect_pass(model, wanted, images, norm_bias);
  // Where a gradient is zero but for rounding only its size counts.
  expect_state(compared_model(wanted["model"].get<std::string>(), dtype), model, wanted,
               reference_tolerance(dtype),
               (dtype == at::kDouble ? 1e-12 : 1e-7) * wanted["grad_norm"].get<double>());
}

inline void expect_numbers(nn::Network& model, const nlohmann::json& wanted, std::int64_t size,
                           at::ScalarType dtype, double norm_bias) {
  expect_numbers(model, wanted, reference_images(8, size, dtype), norm_bias);
}

/// In evaluation, of one image of that size.
inline void expect_logits(const std::string& name, nn::Network& model, const nlohmann::json& wanted,
                          std::int64_t size, at::ScalarType dtype = at::kFloat,
                          std::optional<double> tolerance = {}) {
  nn::set_dtype(model, dtype);
  fill_reference_weights(model, 0.0);
  nn::set_training(model, false);
  const at::NoGradGuard no_grad;
  expect_values({compared_model(name, dtype), "logits"},
                model.forward({{"images", reference_images(1, size, dtype)}}, {}), wanted,
                tolerance.value_or(reference_tolerance(dtype)));
}

inline std::string state_hash(const torch::nn::Module& module) {
  std::uint64_t value = 0xCBF29CE484222325ull;
  for (const nn::NamedTensor& item : nn::state_dict(module)) {
    const std::string line = fmt::format("{}:{}\n", item.name, fmt::join(item.tensor.sizes(), ","));
    for (const char letter : line) {
      value = (value ^ static_cast<unsigned char>(letter)) * 0x100000001B3ull;
    }
  }
  return fmt::format("{:016x}", value);
}

/// The state_dict's names and shapes in order, and the number of parameters.
inline void expect_names(const nn::Network& model, const nlohmann::json& wanted) {
  std::int64_t parameters = 0;
  for (const nn::NamedTensor& item : nn::named_parameters(model)) parameters += item.tensor.numel();
  EXPECT_EQ(nn::state_dict(model).size(), wanted["entries"].get<std::size_t>());
  EXPECT_EQ(parameters, wanted["parameters"].get<std::int64_t>());
  EXPECT_EQ(state_hash(model), wanted["hash"].get<std::string>());
}

/// Initial weights. Both sides are draws: means differ by a few deviations / sqrt(n), as do the
/// second moments; constants by float32's rounding.
inline void expect_distributions(const nn::Network& model, const nlohmann::json& wanted) {
  model.initialize(7);
  for (const nn::NamedTensor& item : nn::named_parameters(model)) {
    if (!wanted.contains(item.name)) continue;
    const auto moments = wanted[item.name].get<std::vector<double>>();
    const at::Tensor values = item.tensor.detach().to(at::kDouble);
    const double error = 7.0 * moments[1] / std::sqrt(static_cast<double>(values.numel())) +
                         1e-7 * std::abs(moments[0]);
    EXPECT_NEAR(values.mean().item<double>(), moments[0], error) << item.name;
    EXPECT_NEAR(values.std(/*unbiased=*/false).item<double>(), moments[1], error) << item.name;
    EXPECT_NEAR(values.abs().mean().item<double>(), moments[2], error) << item.name;
  }
}

}  // namespace paceline::models
