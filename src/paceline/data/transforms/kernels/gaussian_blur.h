#pragma once

#include "paceline/data/image/pixels.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace paceline::data {

/// A number for each pixel of an image. Up to 16 numbers beyond a row's own are read and written.
struct FloatField {
  float* numbers = nullptr;
  ImageSize size;
  std::size_t row_floats = 0;  ///< from one row to the next

  float* row(int y) const { return numbers + static_cast<std::size_t>(y) * row_floats; }
};

/// What the vector code works on.
struct BlurRows {
  std::span<const float> along_rows;
  std::span<const float> along_columns;
  float* mirrored;         ///< a row with its mirrored ends
  float* blurred;          ///< along_columns.size() rows that are blurred along themselves
  std::size_t row_floats;  ///< from one of these to the next
};

/// torchvision's gaussian_blur of bytes: a weighted mean in float32 over `size` pixels, the image
/// mirrored at its edges, rounded with halves to the even byte. It is summed along the rows first
/// and then along the columns, where torchvision sums all at once in an order of the machine's: a
/// byte may differ by 1 where the mean lies next to a half. Keeps its buffers from image to image.
class GaussianBlur {
 public:
  /// `size`: odd; half of it, cut off, is less than the image's height and width.
  void prepare(ImageSize size, double sigma) { prepare(size, {sigma, sigma}); }
  /// `sigma`: along the rows, along the columns.
  void prepare(ImageSize size, const std::array<double, 2>& sigma);

  /// Rows of `target` lie `stride` bytes apart; up to PixelBuffer::kPadding bytes beyond the last
  /// pixel of both are read and written.
  void blur(const PixelView& source, std::uint8_t* target, std::ptrdiff_t stride);
  /// The same in plain C++: what the vector code is tested against.
  void blur_scalar(const PixelView& source, std::uint8_t* target, std::ptrdiff_t stride) const;

  /// The same of one number a pixel, without rounding.
  void blur(const FloatField& field);

  /// Lets go of the memory that a giant took.
  void give_back() { rows_.give_back(); }

 private:
  /// With room for rows of `row_floats` numbers.
  BlurRows buffers(std::size_t row_floats);

  std::vector<float> along_rows_;     ///< weights
  std::vector<float> along_columns_;  ///< weights
  PixelBuffer rows_;
};

/// Floats beyond a row's own that vector code may write.
inline constexpr std::size_t kBlurBlock = 64;

void blur_rows(const PixelView& source, const BlurRows& rows, std::uint8_t* target,
               std::ptrdiff_t stride);
void blur_rows(const FloatField& field, const BlurRows& rows);

/// Number `index` of an axis of `size` pixels that is mirrored at its ends, which count once.
inline int mirrored_index(int index, int size) {
  if (index < 0) return -index;
  return index < size ? index : 2 * (size - 1) - index;
}

}  // namespace paceline::data
