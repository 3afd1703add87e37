#include "paceline/train/tasks/volume/ct_pass_memory.h"

#include "paceline/nn/volume/shaped_parts.h"

namespace paceline::train {
namespace {

using nn::Shaped;

std::int64_t cube(std::int64_t side) { return side * side * side; }

/// Beside what the network makes: noise and what it is added to.
Shaped shaped_forward(const nn::CascadeNetwork& network, nn::ShapedPass& pass) {
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
  return network.shaped_forward(pass);
}

}  // namespace

std::int64_t ct_pass_bytes(const nn::CascadeNetwork& network, bool has_physics,
                           const nn::PassOptions& options) {
  nn::ShapedPass pass(options);
  const Shaped made = shaped_forward(network, pass);
  Shaped loss;
  {
    const Shaped differences = pass.pointwise(made, nn::ShapedPass::Keeps::kNothing);
    const Shaped squares = pass.square(differences);
    loss = pass.pooled(squares, options.samples, squares.width);
  }
  if (has_physics) {
    const std::int64_t side = network.stage(network.current_stage()).side;
    loss = pass.sum(loss, nn::shaped_projection_loss(network.geometry(), side,
                                                     network.xray_sizes().back(), made, pass));
  }
  pass.end_forward();
  return pass.backward(loss);
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
