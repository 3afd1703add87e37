#pragma once

// What tests of fused blocks have in common: one step of a network, and its comparison with that
// of its twin.

#include "paceline/nn/losses.h"
#include "paceline/nn/module_tree.h"
#include "paceline/nn/network.h"
#include "paceline/tensor/autocast.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace paceline::models {

/// How numbers are stored and where, and what autocast computes with.
struct StepTypes {
  at::ScalarType stored = at::kFloat;
  std::optional<at::ScalarType> autocast = std::nullopt;
  at::Device place = at::kCPU;
};

struct StepResult {
  at::Tensor logits;
  at::Tensor image_grad;
  std::vector<nn::NamedTensor> parameters;
};

/// Logits and gradients of one step of a network of 7 classes, in its own type, at its place.
inline StepResult run_step(nn::Network& network, at::IntArrayRef image_sizes,
                           const StepTypes& types) {
  const at::Tensor images = at::linspace(-2, 2, c10::multiply_integers(image_sizes), at::kDouble)
                                .sin()
                                .view(image_sizes)
                                .to(types.place, types.stored)
                                .requires_grad_();
  at::Tensor logits;
  {
    const tensor::AutocastGuard autocast(types.place.type(), types.autocast);
    logits = network.forward({{"images", images}}, {.seed = 5, .step = 7, .first_position = 40});
  }
  nn::CrossEntropy({})
      .sum(logits.to(at::kDouble), at::arange(logits.size(0), types.place) % 7)
      .backward();
  return {logits.detach(), images.grad(), nn::named_parameters(network)};
}

inline double relative_difference(const at::Tensor& got, const at::Tensor& wanted) {
  EXPECT_EQ(got.scalar_type(), wanted.scalar_type());
  EXPECT_EQ(got.sizes(), wanted.sizes());
  const at::Tensor apart = (got.to(at::kDouble) - wanted.to(at::kDouble)).abs().max();
  return (apart / wanted.to(at::kDouble).abs().max()).item<double>();
}

/// A shift of all keys changes no attention: the gradient of such a bias is rounding and no more,
/// which differs from processor to processor.
inline bool is_only_rounding(const std::string& parameter) {
  return parameter.ends_with("k_norm.bias");
}

/// Also that every gradient is there.
inline void expect_equal_steps(const StepResult& fused, const StepResult& plain, double tolerance) {
  EXPECT_LE(relative_difference(fused.logits, plain.logits), tolerance);
  EXPECT_LE(relative_difference(fused.image_grad, plain.image_grad), tolerance);
  for (std::size_t i = 0; i < plain.parameters.size(); ++i) {
    const at::Tensor& wanted = plain.parameters[i].tensor.grad();
    if (is_only_rounding(plain.parameters[i].name)) {
      const at::Tensor& got = fused.parameters[i].tensor.grad();
      const double usual = plain.parameters[i - 1].tensor.grad().abs().max().item<double>();
      EXPECT_LE(got.abs().max().item<double>(),
                std::max(tolerance * usual, 10 * wanted.abs().max().item<double>()))
          << plain.parameters[i].name;
      continue;
    }
    EXPECT_LE(relative_difference(fused.parameters[i].tensor.grad(), wanted), tolerance)
        << plain.parameters[i].name;
    EXPECT_GT(wanted.abs().max().item<double>(), 0.0) << plain.parameters[i].name;
  }
}

/// Where rounding adds up on the way through a network: each tensor is within the tolerance of the
/// same in float64, or as near as its twin by a factor of 3, and all on average by one of 1.4.
inline void expect_equal_steps_but_for_rounding(const StepResult& fused, const StepResult& plain,
                                                const StepResult& exact, double tolerance) {
  double sum_of_logs = 0.0;
  const auto expect_near = [&](const at::Tensor& got, const at::Tensor& twins,
                               const at::Tensor& exacts, const std::string& name) {
    const double of_twin = relative_difference(twins.to(at::kDouble), exacts);
    const double of_fused = relative_difference(got.to(at::kDouble), exacts);
    sum_of_logs += std::log((of_fused + 1e-9) / (of_twin + 1e-9));
    EXPECT_EQ(got.scalar_type(), twins.scalar_type()) << name;
    EXPECT_LE(of_fused, std::max(tolerance, 3.0 * of_twin)) << name;
    EXPECT_GT(twins.abs().max().item<double>(), 0.0) << name;
  };
  expect_near(fused.logits, plain.logits, exact.logits, "logits");
  expect_near(fused.image_grad, plain.image_grad, exact.image_grad, "images");
  for (std::size_t i = 0; i < plain.parameters.size(); ++i) {
    expect_near(fused.parameters[i].tensor.grad(), plain.parameters[i].tensor.grad(),
                exact.parameters[i].tensor.grad(), plain.parameters[i].name);
  }
  const auto count = static_cast<double>(plain.parameters.size() + 2);
  EXPECT_LE(std::exp(sum_of_logs / count), 1.4);
}

}  // namespace paceline::models
