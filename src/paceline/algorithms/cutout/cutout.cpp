#include "paceline/algorithms/cutout/cutout.h"

#include "paceline/train/train_state.h"

#include <algorithm>

namespace paceline::algorithms {

nn::ImageSize hole_size(double length, nn::ImageSize image) {
  const auto shorter = static_cast<double>(std::min(image.height, image.width));
  const auto side = static_cast<std::int64_t>(shorter * length);
  return {side, side};
}

std::vector<Box> draw_holes(const CutoutConfig& config, const SampleGroup& group,
                            nn::ImageSize image) {
  base::Philox draws = group.key.draws(Drawn::kCutout);
  std::vector<Box> holes;
  for (std::int64_t i = 0; i < config.num_holes; ++i)
    holes.push_back(
        draw_box(hole_size(config.length, image), image, config.uniform_sampling, draws));
  return holes;
}

void cut_holes(const at::Tensor& images, std::span<const Box> holes) {
  for (const Box& hole : holes) inside(images, hole).zero_();
}

void Cutout::transform(train::Batch& batch, train::TrainState& state,
                       const train::RunContext& run) {
  const at::NoGradGuard no_grad;
  const at::Tensor images = images_of(batch, name()).clone();
  for (const SampleGroup& group : sample_groups(batch, state.clock.step, run, config_.group)) {
    cut_holes(images.narrow(0, group.row, group.count),
              draw_holes(config_, group, size_of(images)));
  }
  batch.fields.set(train::kImages, images);
}

std::unique_ptr<train::Algorithm> make(const CutoutConfig& config) {
  return std::make_unique<Cutout>(config);
}

}  // namespace paceline::algorithms
