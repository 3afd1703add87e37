#include "paceline/algorithms/microbatch/box.h"

#include <algorithm>

namespace paceline::algorithms {
namespace {

std::int64_t draw_centre(CentreRange range, base::Philox& draws) {
  return range.first + static_cast<std::int64_t>(
                           draws.below(static_cast<std::uint64_t>(range.end - range.first)));
}

}  // namespace

Box box_around(std::int64_t row, std::int64_t column, nn::ImageSize box, nn::ImageSize image) {
  const auto within = [](std::int64_t place, std::int64_t side) {
    return std::clamp<std::int64_t>(place, 0, side);
  };
  return {.top = within(row - box.height / 2, image.height),
          .left = within(column - box.width / 2, image.width),
          .bottom = within(row + box.height / 2, image.height),
          .right = within(column + box.width / 2, image.width)};
}

CentreRange centre_range(std::int64_t box_side, std::int64_t image_side, bool uniform_sampling) {
  if (!uniform_sampling) return {0, image_side};
  return {-((box_side + 1) / 2), image_side + box_side / 2};
}

Box draw_box(nn::ImageSize box, nn::ImageSize image, bool uniform_sampling, base::Philox& draws) {
  const std::int64_t row =
      draw_centre(centre_range(box.height, image.height, uniform_sampling), draws);
  const std::int64_t column =
      draw_centre(centre_range(box.width, image.width, uniform_sampling), draws);
  return box_around(row, column, box, image);
}

at::Tensor inside(const at::Tensor& images, const Box& box) {
  return images.slice(2, box.top, box.bottom).slice(3, box.left, box.right);
}

}  // namespace paceline::algorithms
