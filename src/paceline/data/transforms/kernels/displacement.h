#pragma once

#include "paceline/data/image/pixels.h"
#include "paceline/data/transforms/kernels/gaussian_blur.h"

#include <array>
#include <cstddef>
#include <cstdint>

namespace paceline::data {

/// How far from itself each pixel of an image takes its colour, in pixels.
struct DisplacedBy {
  FloatField columns;
  FloatField rows;
};

/// torchvision's ElasticTransform. Keeps its buffers from image to image.
class Displacement {
 public:
  /// Noise that is uniform in [-1, 1), of this seed, blurred with these deviations along rows and
  /// columns over int(8 * deviation + 1) pixels, one more if that is even, of which half is less
  /// than the image's height and width; times half of `alpha`. One for columns, one for rows.
  void draw(ImageSize size, const std::array<double, 2>& alpha, const std::array<double, 2>& sigma,
            std::uint64_t seed);

  /// What was drawn; stays until the next draw().
  const DisplacedBy& drawn() const { return drawn_; }

  /// Lets go of the memory that a giant took.
  void give_back();

 private:
  DisplacedBy drawn_;
  std::array<PixelBuffer, 2> fields_;
  GaussianBlur blur_;
};

/// How many pixels a deviation of ElasticTransform is blurred over.
int displacement_kernel(double sigma);

/// The pixels at displaced places, of the nearest one or mixed linearly in float32; what lies
/// outside is black, and what a mixture has of it turns into `fill` as torchvision has it. Rows of
/// `target`, an image of the source's size, lie `stride` bytes apart; up to PixelBuffer::kPadding
/// bytes beyond the last pixel of both are read and written. torchvision's arithmetic rounds apart
/// in places: a byte may differ by 1.
void displace(const PixelView& source, const DisplacedBy& by, bool is_linear,
              const std::array<std::uint8_t, 3>& fill, std::uint8_t* target, std::ptrdiff_t stride);

/// The same in plain C++: what the vector code is tested against.
void displace_scalar(const PixelView& source, const DisplacedBy& by, bool is_linear,
                     const std::array<std::uint8_t, 3>& fill, std::uint8_t* target,
                     std::ptrdiff_t stride);

}  // namespace paceline::data
