#pragma once

#include "paceline/base/philox.h"
#include "paceline/config/schema.h"
#include "paceline/nn/image_size.h"
#include "paceline/tensor/aten.h"

#include <cstdint>

namespace paceline::algorithms {

/// Rows [top, bottom) and columns [left, right) of an image.
struct Box {
  std::int64_t top = 0;
  std::int64_t left = 0;
  std::int64_t bottom = 0;
  std::int64_t right = 0;

  std::int64_t area() const { return (bottom - top) * (right - left); }
  friend bool operator==(const Box&, const Box&) = default;
};

/// A box of this size around a place, or a row and column less where a side is odd; what lies
/// beyond the image's borders is cut off.
Box box_around(std::int64_t row, std::int64_t column, nn::ImageSize box, nn::ImageSize image);

/// From `first` up to, but not including, `end`.
struct CentreRange {
  std::int64_t first = 0;
  std::int64_t end = 0;
};

/// Where the centre of a box may lie in one direction: on a pixel; with `uniform_sampling` half a
/// box beyond the borders too, so that each pixel is covered as often.
CentreRange centre_range(std::int64_t box_side, std::int64_t image_side, bool uniform_sampling);

/// box_around() a drawn place.
Box draw_box(nn::ImageSize box, nn::ImageSize image, bool uniform_sampling, base::Philox& draws);

/// The box of images [N, channels, height, width]: a view.
at::Tensor inside(const at::Tensor& images, const Box& box);

/// How recipes say it.
template <class Config>
constexpr auto uniform_sampling_field() {
  return config::field(
      &Config::uniform_sampling, "uniform_sampling",
      "false: the centre of a box is any pixel, and pixels near the borders are covered less often "
      "(as in the paper); true: it may lie beyond the borders, and all are covered as often.");
}

}  // namespace paceline::algorithms
