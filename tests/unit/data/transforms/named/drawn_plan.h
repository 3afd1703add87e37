#pragma once

#include "paceline/data/transforms/transform.h"

#include <cstdint>
#include <variant>

namespace paceline::data {

inline base::Philox draws_of(std::uint64_t position) {
  return {9, base::DrawPurpose::kAugmentation, 2, position};
}

/// What a transform alone draws for an image of this size.
inline Plan plan_of(const TransformConfig& transform, ImageSize image, std::uint64_t position) {
  Plan plan;
  base::Philox draws = draws_of(position);
  draw_steps(transform, image, draws, plan);
  return plan;
}

/// The same of one that begins with a crop.
inline Box crop_of(const TransformConfig& transform, ImageSize image, std::uint64_t position) {
  return std::get<CropStep>(plan_of(transform, image, position).at(0)).box;
}

}  // namespace paceline::data
