#include "paceline/app/recipe/progressive_resizing.h"

#include "paceline/base/error.h"
#include "paceline/data/transforms/named/geometry/random_resized_crop.h"
#include "paceline/data/transforms/named/geometry/resize.h"

#include <algorithm>
#include <cmath>

namespace paceline::app {
namespace {

/// That gives images a size, unless it is random_resized_crop.
bool fixes_size(const data::TransformConfig& transform) {
  if (transform.get_if<data::RandomResizedCropConfig>() != nullptr) return false;
  return transform.get_if<data::ResizeConfig>() != nullptr || transform->fixed_size(std::nullopt);
}

/// One increment more each time that the line is as high.
std::vector<SizeChange> along_line(const ProgressiveResizing& config, int image_size,
                                   std::int64_t begin, std::int64_t end) {
  const auto start = static_cast<int>(*config.start_size);
  std::vector<SizeChange> changes{{0, start}};
  const std::int64_t growth = image_size - start;
  for (std::int64_t grown = config.increment; grown < growth; grown += config.increment) {
    // The first step at which the line is as high.
    const std::int64_t step = begin + (grown * (end - begin) + growth - 1) / growth;
    changes.push_back({step, start + static_cast<int>(grown)});
  }
  changes.push_back({end, image_size});
  return changes;
}

/// Halves go to the even one; no image grows beyond what it is.
int nearest_multiple(double size, int increment, int image_size) {
  const int nearest = static_cast<int>(std::nearbyint(size / increment)) * increment;
  if (nearest > 0) return std::min(nearest, image_size);
  throw base::ConfigError(fmt::format(
      "data.progressive_resizing: {:g} pixels are rounded to none by an increment of {}: choose a "
      "smaller increment",
      size, increment));
}

/// As a share of the run, or for FFCV in epochs; not rounded to steps.
double moment_of(const config::Duration& duration, double whole,
                 const config::StepLengths& lengths) {
  if (duration.unit == config::TimeUnit::kFraction) return duration.value * whole;
  return static_cast<double>(to_steps(duration, lengths)) * whole /
         static_cast<double>(lengths.total_steps);
}

/// The size in a step, as Composer pins it.
int composers_size(const ProgressiveResizing& config, int image_size, std::int64_t step,
                   const config::StepLengths& lengths) {
  const double begin = moment_of(config.begin, 1, lengths), end = moment_of(config.end, 1, lengths);
  const double elapsed = static_cast<double>(step) / static_cast<double>(lengths.total_steps);
  const double share = elapsed < begin ? 0 : std::min((elapsed - begin) / (end - begin), 1.0);
  const double start_scale = *config.start_size / image_size;
  const double scale = start_scale + (1 - start_scale) * share;
  return nearest_multiple(image_size * scale, config.increment, image_size);
}

/// The size in a step, as ffcv-imagenet's ramp gives it.
int ffcvs_size(const ProgressiveResizing& config, int image_size, std::int64_t step,
               const config::StepLengths& lengths) {
  const double epochs =
      static_cast<double>(lengths.total_steps) / static_cast<double>(lengths.steps_per_epoch);
  const double begin = moment_of(config.begin, epochs, lengths);
  const double end = moment_of(config.end, epochs, lengths);
  const auto epoch = static_cast<double>(step / lengths.steps_per_epoch);
  if (epoch <= begin) return static_cast<int>(*config.start_size);
  if (epoch >= end) return image_size;
  const double slope = (image_size - *config.start_size) / (end - begin);
  return nearest_multiple(*config.start_size + slope * (epoch - begin), config.increment,
                          image_size);
}

}  // namespace

std::vector<SizeChange> size_changes(const ProgressiveResizing& config, int image_size,
                                     const config::StepLengths& lengths) {
  if (!config.start_size) return {};
  const double start = *config.start_size;
  const std::int64_t begin = to_steps(config.begin, lengths);
  const std::int64_t end = to_steps(config.end, lengths);
  if (start >= image_size)
    throw base::ConfigError(fmt::format(
        "data.progressive_resizing.start_size is {}, expected less than the images' final size {}",
        start, image_size));
  if (begin >= end)
    throw base::ConfigError(fmt::format(
        "data.progressive_resizing.begin ({}: step {}) must come before its end ({}: step {})",
        config.begin.to_string(), begin, config.end.to_string(), end));
  if (config.law == ResizingLaw::kLine) return along_line(config, image_size, begin, end);
  if (lengths.total_steps == 0) {
    throw base::ConfigError(
        "data.progressive_resizing.law: composer and ffcv count shares of the run, whose length is "
        "not known in steps: give train.duration in ep, ba or sp, or write law: line");
  }
  std::vector<SizeChange> changes;
  const auto size_at = config.law == ResizingLaw::kComposer ? composers_size : ffcvs_size;
  for (std::int64_t step = 0; step < lengths.total_steps; ++step) {
    const int size = size_at(config, image_size, step, lengths);
    if (changes.empty() || changes.back().size != size) changes.push_back({step, size});
  }
  return changes;
}

std::vector<data::TransformConfig> with_size(std::vector<data::TransformConfig> transforms,
                                             const config::Sides& size) {
  data::TransformConfig* crop = nullptr;
  for (data::TransformConfig& transform : transforms) {
    const bool is_crop = transform.get_if<data::RandomResizedCropConfig>() != nullptr;
    if (fixes_size(transform) || (is_crop && crop != nullptr))
      throw base::ConfigError(
          "data.progressive_resizing: of the training transforms only one random_resized_crop may "
          "give images their size; remove resize, random_crop and center_crop from "
          "data.train_transforms");
    if (is_crop) crop = &transform;
  }
  if (crop == nullptr)
    throw base::ConfigError(
        "data.progressive_resizing needs random_resized_crop among data.train_transforms");
  data::RandomResizedCropConfig resized = *crop->get_if<data::RandomResizedCropConfig>();
  resized.size = size;
  *crop = resized;
  return transforms;
}

config::Sides grown_to(data::ImageSize size, int shorter) {
  if (size.height == size.width) return shorter;
  const bool is_wide = size.width > size.height;
  const auto [least, most] = std::minmax(size.height, size.width);
  const auto longer =
      static_cast<int>((2 * std::int64_t{most} * shorter + least) / (2 * std::int64_t{least}));
  return is_wide ? config::Sides(shorter, longer) : config::Sides(longer, shorter);
}

}  // namespace paceline::app

void paceline::config::Schema<paceline::app::ProgressiveResizing>::validate(const Config& values,
                                                                            Problems& problems) {
  const bool is_whole = !values.start_size || *values.start_size == std::floor(*values.start_size);
  if (!is_whole && values.law != app::ResizingLaw::kComposer)
    problems.add("start_size", fmt::format("must be whole pixels, but for law: composer; got {}",
                                           *values.start_size));
  if (values.start_size || values.mode == app::ResizingMode::kLoader) return;
  problems.add("mode", fmt::format("without start_size nothing is resized: give it, or leave mode "
                                   "{} out",
                                   enum_name(values.mode)));
}
