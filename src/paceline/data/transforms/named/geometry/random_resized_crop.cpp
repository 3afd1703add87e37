#include "paceline/data/transforms/named/geometry/random_resized_crop.h"

#include "paceline/data/transforms/draw.h"

#include <algorithm>
#include <cmath>
#include <optional>

namespace paceline::data {
namespace {

/// The largest centred box whose ratio is allowed; for images that no drawn box fits.
Box central_box(const RandomResizedCropConfig& config, ImageSize image) {
  const auto [lowest, highest] = std::minmax(config.ratio[0], config.ratio[1]);
  const double ratio = static_cast<double>(image.width) / image.height;
  ImageSize size = image;
  if (ratio < lowest) size.height = round_to_even(image.width / lowest);
  if (ratio > highest) size.width = round_to_even(image.height * highest);
  return {(image.height - size.height) / 2, (image.width - size.width) / 2, size.height,
          size.width};
}

Box draw_resized_crop(const RandomResizedCropConfig& config, ImageSize image, base::Philox& draws) {
  constexpr int kAttempts = 10;
  const double area = static_cast<double>(image.height) * image.width;
  const double log_low = std::log(config.ratio[0]);
  const double log_high = std::log(config.ratio[1]);
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    const double target = area * draws.uniform(config.scale[0], config.scale[1]);
    const double ratio = std::exp(draws.uniform(log_low, log_high));
    const int width = round_to_even(std::sqrt(target * ratio));
    const int height = round_to_even(std::sqrt(target / ratio));
    if (width <= 0 || width > image.width || height <= 0 || height > image.height) continue;
    const int top = draw_below(draws, image.height - height + 1);
    const int left = draw_below(draws, image.width - width + 1);
    return {top, left, height, width};
  }
  return central_box(config, image);
}

class RandomResizedCrop final : public TransformOf<RandomResizedCropConfig> {
 public:
  using TransformOf::TransformOf;
  ImageSize draw(ImageSize image, base::Philox& draws, Plan& plan) const override {
    plan.emplace_back(CropStep{draw_resized_crop(config(), image, draws)});
    plan.emplace_back(
        ResizeStep{image_size(config().size), draw_filter(config().interpolation, draws)});
    return image_size(config().size);
  }
  std::optional<ImageSize> fixed_size(std::optional<ImageSize>) const override {
    return image_size(config().size);
  }
};

}  // namespace

std::unique_ptr<Transform> make(const RandomResizedCropConfig& config) {
  return std::make_unique<RandomResizedCrop>(config);
}

}  // namespace paceline::data

void paceline::config::Schema<paceline::data::RandomResizedCropConfig>::validate(
    const Config& values, Problems& problems) {
  data::check_image_sides("size", values.size, problems);
  data::check_order("scale", values.scale, problems);
  data::check_order("ratio", values.ratio, problems);
}
