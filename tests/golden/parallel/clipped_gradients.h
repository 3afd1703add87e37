#pragma once

// What tests of adaptive clipping beside its references have in common.

#include "paceline/optim/param_groups.h"
#include "paceline/parallel/adaptive_clipper.h"
#include "paceline/parallel/replicated/replicated_strategy.h"
#include "paceline/tensor/torch.h"
#include "support/parity.h"

#include <fstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace paceline::parallel::clipped {

using Json = nlohmann::json;

inline const std::vector<std::vector<std::int64_t>> kClippedShapes{
    {4, 3, 2, 2}, {5, 7}, {6}, {3, 2, 4}, {3, 4}};

inline at::Tensor clipped_wave(std::size_t number, double phase) {
  const std::vector<std::int64_t>& shape = kClippedShapes[number];
  return (at::arange(c10::multiply_integers(shape), at::kDouble) * 0.7 + phase).sin().view(shape);
}

/// By how much a step with a learning rate of 1 moves the weights.
inline std::vector<at::Tensor> clipped_gradients(const AdaptiveClipping& clipping) {
  torch::nn::Module net;
  std::vector<at::Tensor> weights;
  std::vector<at::Tensor> before;
  at::Tensor loss = at::zeros({}, at::kDouble);
  for (std::size_t n = 0; n < kClippedShapes.size(); ++n) {
    before.push_back(clipped_wave(n, static_cast<double>(n)));
    if (n + 1 == kClippedShapes.size()) before.back().zero_();
    weights.push_back(net.register_parameter(std::to_string(n), before.back().clone()));
  }
  const auto strategy = make_none({});
  strategy->prepare(net, optim::weight_decay_rules(0, false, {}));
  for (std::size_t n = 0; n < weights.size(); ++n)
    loss = loss + (weights[n] * clipped_wave(n, 10.0 + static_cast<double>(n))).sum();
  strategy->begin_microbatch(true, true);
  strategy->backward(loss, 1.0);
  strategy->finish_gradients();
  AdaptiveClipper(*strategy, clipping).clip();
  const at::NoGradGuard no_grad;
  for (const auto& group : strategy->param_groups()) {
    for (const auto& slot : group.slots) slot.param.zero_().add_(slot.grad);
  }
  return weights;
}

inline void expect_as_theirs(const std::string& file, const std::string& component) {
  const Json cases = Json::parse(std::ifstream(PACELINE_GOLDEN_DIR "/" + file));
  ASSERT_EQ(cases.size(), 3U);
  for (const Json& golden : cases) {
    const auto found =
        clipped_gradients({.threshold = golden.at("threshold"), .floor = golden.at("floor")});
    for (std::size_t n = 0; n < found.size(); ++n) {
      const std::vector<double> wanted = golden.at("gradients").at(n);
      const at::Tensor flat = found[n].detach().reshape({-1});
      for (std::int64_t i = 0; i < flat.numel(); ++i) {
        paceline::test::expect_reference(component, "gradient", flat[i].item<double>(),
                                         wanted[static_cast<std::size_t>(i)], 1e-12);
      }
    }
  }
}

}  // namespace paceline::parallel::clipped
