#include "paceline/data/transforms/kernels/sharpness.h"

#include <algorithm>
#include <cstring>

namespace paceline::data {
namespace {

/// Pillow's float32 sum, whose errors are far smaller than its distance from a rounding boundary.
int smooth(const PixelView& image, int y, std::ptrdiff_t byte) {
  int sum = 4 * image.row(y)[byte];
  for (int row = y - 1; row <= y + 1; ++row) {
    const std::uint8_t* middle = image.row(row) + byte;
    sum += middle[-3] + middle[0] + middle[3];
  }
  return (sum + 6) / 13;
}

}  // namespace

void sharpen_scalar(const PixelView& source, float factor, std::uint8_t* target,
                    std::ptrdiff_t stride) {
  const std::ptrdiff_t row_bytes = std::ptrdiff_t{3} * source.size.width;
  for (int y = 0; y < source.size.height; ++y) {
    std::uint8_t* row = target + y * stride;
    std::memcpy(row, source.row(y), static_cast<std::size_t>(row_bytes));
    if (y == 0 || y + 1 == source.size.height) continue;
    for (std::ptrdiff_t byte = 3; byte < row_bytes - 3; ++byte) {
      const int degenerate = smooth(source, y, byte);
      const float mixed =
          static_cast<float>(degenerate) + factor * static_cast<float>(row[byte] - degenerate);
      row[byte] = static_cast<std::uint8_t>(std::clamp(mixed, 0.0f, 255.0f));
    }
  }
}

}  // namespace paceline::data
