#include "paceline/app/assembly/weight_preprocessing.h"

#include "paceline/base/text.h"
#include "paceline/data/transforms/named/geometry/center_crop.h"
#include "paceline/data/transforms/named/geometry/resize.h"
#include "paceline/data/transforms/normalize.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace paceline::app {
namespace {

bool is_close(const std::array<double, 3>& left, const std::array<double, 3>& right) {
  constexpr double kLeast = 1e-3;  // some publish three digits
  return std::ranges::equal(left, right,
                            [](double a, double b) { return std::abs(a - b) < kLeast; });
}

std::string text_of(const std::array<double, 3>& values) {
  return fmt::format("[{}]", fmt::join(values, ", "));
}

bool is_side(const config::Sides& sides, int side) {
  return sides.height() == side && sides.width() == side;
}

std::string setting_of(const pretrained::Preprocessing& known) {
  return fmt::format(
      "data.eval_transforms='[{{resize: {{size: {}, interpolation: {}}}}}, {{center_crop: {{size: "
      "{}}}}}, {{normalize: {{mean: {}, std: {}}}}}]'",
      known.resize, known.interpolation, known.crop, text_of(known.mean), text_of(known.std));
}

/// One line for each transform that does otherwise.
std::vector<std::string> differences(const pretrained::Preprocessing& known,
                                     const data::TransformConfig& transform) {
  std::vector<std::string> found;
  const auto add = [&](std::string_view what, const std::string& here, const std::string& there) {
    if (here != there) found.push_back(fmt::format("{} {} here, {} there", what, here, there));
  };
  if (const auto* normalize = transform.get_if<data::NormalizeConfig>()) {
    if (!is_close(normalize->mean, known.mean))
      add("mean", text_of(normalize->mean), text_of(known.mean));
    if (!is_close(normalize->std, known.std))
      add("std", text_of(normalize->std), text_of(known.std));
  } else if (const auto* resize = transform.get_if<data::ResizeConfig>()) {
    if (!is_side(resize->size, known.resize))
      add("resize to", resize->size.to_string(), std::to_string(known.resize));
    add("interpolation", std::string(config::enum_name(resize->interpolation)),
        known.interpolation);
  } else if (const auto* crop = transform.get_if<data::CenterCropConfig>()) {
    if (!is_side(crop->size, known.crop))
      add("crop of", crop->size.to_string(), std::to_string(known.crop));
  }
  return found;
}

}  // namespace

std::string contradictions(const pretrained::Preprocessing& of_weights,
                           std::span<const data::TransformConfig> transforms) {
  std::vector<std::string> all;
  for (const data::TransformConfig& transform : transforms) {
    const auto found = differences(of_weights, transform);
    all.insert(all.end(), found.begin(), found.end());
  }
  if (all.empty()) return {};
  return fmt::format(
      "images are prepared otherwise than for the weights of model.pretrained: {}. To follow the "
      "weights, set {} and the same normalize in data.train_transforms",
      base::join(all, "; "), setting_of(of_weights));
}

}  // namespace paceline::app
