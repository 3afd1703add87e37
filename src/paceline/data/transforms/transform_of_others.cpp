#include "paceline/data/transforms/transform_of_others.h"

#include "paceline/base/error.h"
#include "paceline/data/transforms/array_transform.h"

#include <algorithm>
#include <array>

namespace paceline::data {
namespace {

/// Whether it leaves the size of any image as it is.
bool keeps_sizes(const TransformConfig& transform) {
  constexpr std::array<ImageSize, 2> kSizes = {{{97, 131}, {641, 479}}};
  return std::ranges::all_of(
      kSizes, [&](const ImageSize& size) { return transform->fixed_size(size) == size; });
}

}  // namespace

void check_others(std::string_view outer, const std::vector<TransformConfig>& transforms) {
  for (const TransformConfig& transform : transforms) {
    transform->check();
    if (transform->place() != TransformPlace::kAnywhere) {
      throw base::ConfigError(fmt::format(
          "{}.transforms: {} has its place at the end of all transforms: write it there", outer,
          transform->name()));
    }
    if (transform->needs_sample()) {
      throw base::ConfigError(fmt::format(
          "{}.transforms: {} does by turns what it is told to do in every epoch, and {} "
          "leaves it out in some: write it among the transforms themselves",
          outer, transform->name(), outer));
    }
    const ArrayTransform* const arrays = transform->for_arrays();
    if (arrays != nullptr && !arrays->field_names().empty()) {
      throw base::ConfigError(
          fmt::format("{}.transforms: {}.fields names fields of arrays, and {} is for images: take "
                      "it out",
                      outer, transform->name(), outer));
    }
  }
}

std::optional<ImageSize> size_after(const std::vector<TransformConfig>& transforms,
                                    std::optional<ImageSize> before) {
  for (const TransformConfig& transform : transforms) before = transform->fixed_size(before);
  return before;
}

std::optional<ImageSize> size_after_any_order(const std::vector<TransformConfig>& transforms,
                                              std::optional<ImageSize> before) {
  const auto is_change = [](const TransformConfig& transform) { return !keeps_sizes(transform); };
  if (std::ranges::count_if(transforms, is_change) > 1) return std::nullopt;
  return size_after(transforms, before);
}

std::optional<ImageSize> size_after_any(const std::vector<TransformConfig>& transforms,
                                        std::optional<ImageSize> before) {
  const std::optional<ImageSize> first = transforms.at(0)->fixed_size(before);
  const bool agree = std::ranges::all_of(transforms, [&](const TransformConfig& transform) {
    return transform->fixed_size(before) == first;
  });
  return agree ? first : std::nullopt;
}

}  // namespace paceline::data
