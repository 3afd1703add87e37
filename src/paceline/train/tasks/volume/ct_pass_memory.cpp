#include "paceline/train/tasks/volume/ct_pass_memory.h"

#include "paceline/nn/volume/shaped_parts.h"

namespace paceline::train {
namespace {

using nn::Shaped;

std::int64_t cube(std::int64_t side) { return side * side * side; }

/// x_0 and the losses of it.
struct ShapedOutputs {
  Shaped made, loss;
};

Shaped shaped_loss(const nn::CascadeNetwork& network, bool has_physics, const Shaped& made,
                   nn::ShapedPass& pass) {
  Shaped diffusion;
  {
    const Shaped differences = pass.pointwise(made, nn::ShapedPass::Keeps::kNothing);
    const Shaped errors = pass.square(differences);
    diffusion = pass.pooled(errors, pass.options().samples, errors.width);
  }
  Shaped judged = made;
  if (!has_physics) judged.place = -1;  // it is measured all the same
  const Shaped physics =
      nn::shaped_projection_loss(network.geometry(), network.stage(network.current_stage()).side,
                                 network.xray_sizes().back(), judged, pass);
  return pass.sum(diffusion, physics);
}

/// Beside what the network makes: noise and what it is added to.
ShapedOutputs shaped_outputs(const nn::CascadeNetwork& network, bool has_physics,
                             nn::ShapedPass& pass) {
  const nn::CascadeStage stage = network.stage(network.current_stage());
  const std::int64_t samples = pass.options().samples;
  const auto volumes = [&](std::int64_t side) {
    return pass.take(samples * cube(side), pass.options().width);
  };
  const Shaped noise = volumes(stage.side);
  Shaped noisy;
  {
    const Shaped of_samples = volumes(stage.side);
    const Shaped of_noise = volumes(stage.side);
    noisy = volumes(stage.side);
  }
  Shaped previous;
  if (stage.previous_side > 0) {
    const Shaped before = volumes(stage.previous_side);
    const Shaped added = volumes(stage.previous_side);
    previous = volumes(stage.previous_side);
  }
  const Shaped made = network.shaped_forward(pass);
  return {made, shaped_loss(network, has_physics, made, pass)};
}

}  // namespace

std::int64_t ct_pass_bytes(const nn::CascadeNetwork& network, bool has_physics,
                           const nn::PassOptions& options) {
  nn::ShapedPass pass(options);
  const ShapedOutputs outputs = shaped_outputs(network, has_physics, pass);
  pass.end_forward();
  return pass.backward(outputs.loss);
}

std::optional<PublishedTraining> guide_of_volumes(std::int64_t side) {
  const auto guide = [](std::int64_t batch, double gigabytes, double minutes) {
    return PublishedTraining{.source = "guide, 4 A100",
                             .batch_per_rank = batch,
                             .bytes = gigabytes * 1e9,
                             .minutes_per_epoch = minutes,
                             .samples = 1000,
                             .ranks = 4};
  };
  switch (side) {
    case 64:
      return guide(16, 15, 2);
    case 128:
      return guide(8, 40, 8);
    case 256:
      return guide(4, 70, 25);
    default:
      return std::nullopt;
  }
}

}  // namespace paceline::train
