#include "paceline/data/transforms/plan.h"

#include "paceline/base/error.h"
#include "paceline/data/transforms/augment.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <utility>

namespace paceline::data {
namespace {

/// Python's round(): halves go to the even neighbour.
int round_to_even(double value) { return static_cast<int>(std::nearbyint(value)); }

int draw_below(base::Philox& draws, int bound) {
  return static_cast<int>(draws.below(static_cast<std::uint64_t>(bound)));
}

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

ImageSize steps_of(const RandomResizedCropConfig& config, ImageSize image, base::Philox& draws,
                   Plan& plan) {
  plan.emplace_back(CropStep{draw_resized_crop(config, image, draws)});
  plan.emplace_back(ResizeStep{{config.size, config.size}, config.interpolation});
  return {config.size, config.size};
}

ImageSize steps_of(const RandomCropConfig& config, ImageSize image, base::Philox& draws,
                   Plan& plan) {
  const int room_below = image.height + 2 * config.padding - config.size;
  const int room_right = image.width + 2 * config.padding - config.size;
  if (room_below < 0 || room_right < 0) {
    throw base::DataError(
        fmt::format("random_crop cuts {0} x {0} pixels with a padding of {1}, but the "
                    "image has {2} x {3}: resize first",
                    config.size, config.padding, image.width, image.height));
  }
  const int top = draw_below(draws, room_below + 1);
  const int left = draw_below(draws, room_right + 1);
  plan.emplace_back(
      CropStep{{top - config.padding, left - config.padding, config.size, config.size}});
  return {config.size, config.size};
}

ImageSize steps_of(const RandomHorizontalFlipConfig& config, ImageSize image, base::Philox& draws,
                   Plan& plan) {
  if (draws.uniform() < config.p) plan.emplace_back(FlipStep{});
  return image;
}

ImageSize steps_of(const RandomVerticalFlipConfig& config, ImageSize image, base::Philox& draws,
                   Plan& plan) {
  if (draws.uniform() < config.p) plan.emplace_back(VerticalFlipStep{});
  return image;
}

ImageSize steps_of(const RandomGrayscaleConfig& config, ImageSize image, base::Philox& draws,
                   Plan& plan) {
  if (draws.uniform() < config.p) plan.emplace_back(SaturationStep{0.0f});
  return image;
}

double draw_from(const std::array<double, 2>& range, base::Philox& draws) {
  return draws.uniform(range[0], range[1]);
}

ImageSize steps_of(const RandomRotationConfig& config, ImageSize image, base::Philox& draws,
                   Plan& plan) {
  const double angle = draw_from(config.degrees, draws);
  plan.emplace_back(
      AffineStep{rotation_matrix(angle, image), config.interpolation, fill_color(config.fill)});
  return image;
}

ImageSize steps_of(const RandomAffineConfig& config, ImageSize image, base::Philox& draws,
                   Plan& plan) {
  Movement movement;
  movement.center = {image.width * 0.5, image.height * 0.5};
  movement.angle = draw_from(config.degrees, draws);
  const std::array<double, 2> reach = {config.translate[0] * image.width,
                                       config.translate[1] * image.height};
  for (std::size_t axis = 0; axis < 2; ++axis) {
    movement.translate[axis] = round_to_even(draws.uniform(-reach[axis], reach[axis]));
  }
  movement.scale = draw_from(config.scale, draws);
  movement.shear[0] = draw_from(config.shear_x, draws);
  movement.shear[1] = draw_from(config.shear_y, draws);
  plan.emplace_back(
      AffineStep{affine_matrix(movement), config.interpolation, fill_color(config.fill)});
  return image;
}

template <class AugmentConfig>
concept DrawsOperations = requires(const AugmentConfig& config, base::Philox& draws, Plan& plan) {
  draw_augment(config, ImageSize{}, draws, plan);
};

ImageSize steps_of(const DrawsOperations auto& config, ImageSize image, base::Philox& draws,
                   Plan& plan) {
  draw_augment(config, image, draws, plan);
  return image;
}

ImageSize steps_of(const ColorJitterConfig& config, ImageSize image, base::Philox& draws,
                   Plan& plan) {
  std::array<std::size_t, 4> order;
  std::iota(order.begin(), order.end(), std::size_t{0});
  for (int last = 3; last > 0; --last) {
    std::swap(order[static_cast<std::size_t>(last)],
              order[static_cast<std::size_t>(draw_below(draws, last + 1))]);
  }
  const auto draw_factor = [&](double strength) {
    return strength == 0 ? 1.0 : draws.uniform(std::max(0.0, 1.0 - strength), 1.0 + strength);
  };
  const auto brightness = static_cast<float>(draw_factor(config.brightness));
  const auto contrast = static_cast<float>(draw_factor(config.contrast));
  const auto saturation = static_cast<float>(draw_factor(config.saturation));
  const double turn = config.hue == 0 ? 0.0 : draws.uniform(-config.hue, config.hue);
  for (const std::size_t step : order) {
    if (step == 0 && config.brightness != 0) plan.emplace_back(BrightnessStep{brightness});
    if (step == 1 && config.contrast != 0) plan.emplace_back(ContrastStep{contrast});
    if (step == 2 && config.saturation != 0) plan.emplace_back(SaturationStep{saturation});
    if (step == 3 && config.hue != 0) plan.emplace_back(HueStep{turn});
  }
  return image;
}

ImageSize steps_of(const ResizeConfig& config, ImageSize image, base::Philox&, Plan& plan) {
  const auto follow = [&](int longer, int shorter) {
    constexpr std::int64_t kLongest = std::int64_t{1} << 30;
    const std::int64_t followed = std::int64_t{config.size} * longer / shorter;
    if (followed > kLongest) {
      throw base::DataError(fmt::format(
          "resize to {} would make {} x {} pixels {} long: the image is too narrow for it; leave "
          "it out",
          config.size, image.width, image.height, followed));
    }
    return static_cast<int>(followed);
  };
  const ImageSize size = image.height <= image.width
                             ? ImageSize{config.size, follow(image.width, image.height)}
                             : ImageSize{follow(image.height, image.width), config.size};
  plan.emplace_back(ResizeStep{size, config.interpolation});
  return size;
}

/// Where a centred piece begins; an image that is too small starts inside it.
int center_start(int image_size, int crop_size) {
  if (crop_size > image_size) return -((crop_size - image_size) / 2);
  return round_to_even((image_size - crop_size) / 2.0);
}

ImageSize steps_of(const CenterCropConfig& config, ImageSize image, base::Philox&, Plan& plan) {
  plan.emplace_back(CropStep{{center_start(image.height, config.size),
                              center_start(image.width, config.size), config.size, config.size}});
  return {config.size, config.size};
}

ImageSize steps_of(const NormalizeConfig&, ImageSize image, base::Philox&, Plan&) { return image; }

ImageSize steps_of(const RandomErasingConfig& config, ImageSize image, base::Philox& draws,
                   Plan& plan) {
  constexpr int kAttempts = 10;
  if (draws.uniform() >= config.p) return image;
  const double area = static_cast<double>(image.height) * image.width;
  const double log_low = std::log(config.ratio[0]);
  const double log_high = std::log(config.ratio[1]);
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    const double erased = area * draw_from(config.scale, draws);
    const double ratio = std::exp(draws.uniform(log_low, log_high));
    const int height = round_to_even(std::sqrt(erased * ratio));
    const int width = round_to_even(std::sqrt(erased / ratio));
    if (height >= image.height || width >= image.width) continue;
    const int top = draw_below(draws, image.height - height + 1);
    const int left = draw_below(draws, image.width - width + 1);
    plan.emplace_back(
        EraseStep{{top, left, height, width},
                  {static_cast<float>(config.value[0]), static_cast<float>(config.value[1]),
                   static_cast<float>(config.value[2])}});
    break;
  }
  return image;
}

}  // namespace

ImageSize draw_steps(const TransformConfig& transform, ImageSize image, base::Philox& draws,
                     Plan& plan) {
  return std::visit([&](const auto& config) { return steps_of(config, image, draws, plan); },
                    transform);
}

}  // namespace paceline::data
