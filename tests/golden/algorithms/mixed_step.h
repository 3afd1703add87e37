#pragma once

// What the golden tests of mixing have in common: make_mixup.py, make_cutmix.py.

#include "golden/algorithms/scripted_step.h"
#include "paceline/algorithms/mixing/mixing.h"

#include <functional>
#include <string>
#include <utility>

namespace paceline::algorithms {

/// The images, targets, loss and gradients of a case's step. `mixture` is what it is mixed by, and
/// `mix_images` what makes its images of `images`.
inline void expect_mixed_step(
    const std::string& component, const nlohmann::json& golden, const at::Tensor& images,
    Mixture mixture,
    const std::function<at::Tensor(const at::Tensor& images, const MixedBy& by)>& mix_images) {
  const nlohmann::json& options = golden.at("options");
  const bool interpolates = options.at("interpolate_loss");
  ScriptedStep step(images, options.at("targets"));
  MixedBy by{{std::move(mixture)}, {}};
  by.partners = at::tensor(partner_rows(by.mixtures));

  const at::Tensor mixed = mix_images(images, by);
  if (!interpolates) mix_targets(step.state.batch, 5, by);
  step.forward();
  if (interpolates) mix_losses(step.state, by);
  const at::Tensor mean = step.state.loss / 4;
  mean.backward();

  EXPECT_EQ(mixed.scalar_type(), images.scalar_type());
  expect_golden_values(component, "image", mixed, golden.at("mixed"), 1e-8);
  expect_golden_values(component, "target", step.target(), golden.at("target"), 1e-8);
  expect_golden_values(component, "partner", step.targets.index_select(0, by.partners),
                       golden.at("permuted_target"), 1e-8);
  paceline::test::expect_reference(component, "loss", mean.item<double>(),
                                   golden.at("loss").get<double>(), 1e-6);
  expect_golden_values(component, "gradient", step.network->logits.grad(), golden.at("grad_logits"),
                       1e-7);
}

}  // namespace paceline::algorithms
