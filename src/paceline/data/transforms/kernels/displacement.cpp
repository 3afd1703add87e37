#include "paceline/data/transforms/kernels/displacement.h"

#include "paceline/base/philox.h"

#include <algorithm>
#include <cmath>

namespace paceline::data {
namespace {

/// A byte, or black outside.
float byte_or_black(const PixelView& image, int y, int x, int channel) {
  const bool is_inside = y >= 0 && y < image.size.height && x >= 0 && x < image.size.width;
  return is_inside ? image.row(y)[3 * x + channel] : 0.0f;
}

float share_inside(const PixelView& image, int y, int x) {
  return y >= 0 && y < image.size.height && x >= 0 && x < image.size.width ? 1.0f : 0.0f;
}

/// Weights of four pixels around a place.
struct Around {
  int left;
  int top;
  std::array<float, 4> weights;  ///< upper left, upper right, lower left, lower right

  Around(float x, float y)
      : left(static_cast<int>(std::floor(x))), top(static_cast<int>(std::floor(y))), weights() {
    const float right_share = x - std::floor(x);
    const float lower_share = y - std::floor(y);
    weights = {(1 - right_share) * (1 - lower_share), right_share * (1 - lower_share),
               (1 - right_share) * lower_share, right_share * lower_share};
  }
  template <class Value>
  float sum(const Value& value) const {
    return weights[0] * value(top, left) + weights[1] * value(top, left + 1) +
           weights[2] * value(top + 1, left) + weights[3] * value(top + 1, left + 1);
  }
};

std::uint8_t mixed(const PixelView& source, float x, float y, int channel, float fill) {
  const Around around(x, y);
  const float color =
      around.sum([&](int row, int column) { return byte_or_black(source, row, column, channel); });
  const float inside =
      around.sum([&](int row, int column) { return share_inside(source, row, column); });
  const float filled = (color - fill) * inside + fill;
  return static_cast<std::uint8_t>(std::clamp(std::nearbyint(filled), 0.0f, 255.0f));
}

std::uint8_t nearest(const PixelView& source, float x, float y, int channel, float fill) {
  const int column = static_cast<int>(std::nearbyint(x));
  const int row = static_cast<int>(std::nearbyint(y));
  if (share_inside(source, row, column) == 0) return static_cast<std::uint8_t>(fill);
  return source.row(row)[3 * column + channel];
}

/// Beyond this all is outside, and whole numbers would not hold it.
float near_image(float place, int size) {
  return std::clamp(place, -2.0f, static_cast<float>(size) + 1.0f);
}

template <class Change>
void for_each(const FloatField& field, const Change& change) {
  for (int y = 0; y < field.size.height; ++y)
    for (int x = 0; x < field.size.width; ++x) change(field.row(y)[x]);
}

}  // namespace

int displacement_kernel(double sigma) {
  const int size = static_cast<int>(8 * sigma + 1);
  return size + (size % 2 == 0 ? 1 : 0);
}

void Displacement::draw(ImageSize size, const std::array<double, 2>& alpha,
                        const std::array<double, 2>& sigma, std::uint64_t seed) {
  const std::size_t row_floats = static_cast<std::size_t>(size.width) + 16;
  for (std::size_t axis = 0; axis < 2; ++axis) {
    const std::size_t size_bytes =
        static_cast<std::size_t>(size.height) * row_floats * sizeof(float);
    const FloatField field = {reinterpret_cast<float*>(fields_[axis].reserve(size_bytes)), size,
                              row_floats};
    base::Philox draws(seed, base::DrawPurpose::kAugmentation, axis, 0);
    for_each(field, [&](float& number) {
      number = static_cast<float>(draws.next() >> 8) * 0x1.0p-23f - 1.0f;
    });
    const int kernel = displacement_kernel(sigma[axis]);
    blur_.prepare({kernel, kernel}, sigma);
    blur_.blur(field);
    const auto factor = static_cast<float>(alpha[axis] / 2);
    for_each(field, [&](float& number) { number *= factor; });
    (axis == 0 ? drawn_.columns : drawn_.rows) = field;
  }
}

void Displacement::give_back() {
  for (PixelBuffer& field : fields_) field.give_back();
  blur_.give_back();
}

void displace_scalar(const PixelView& source, const DisplacedBy& by, bool is_linear,
                     const std::array<std::uint8_t, 3>& fill, std::uint8_t* target,
                     std::ptrdiff_t stride) {
  for (int row = 0; row < source.size.height; ++row) {
    for (int column = 0; column < source.size.width; ++column) {
      const float x =
          near_image(static_cast<float>(column) + by.columns.row(row)[column], source.size.width);
      const float y =
          near_image(static_cast<float>(row) + by.rows.row(row)[column], source.size.height);
      for (int channel = 0; channel < 3; ++channel) {
        const float color = fill[static_cast<std::size_t>(channel)];
        target[row * stride + std::ptrdiff_t{3} * column + channel] =
            is_linear ? mixed(source, x, y, channel, color) : nearest(source, x, y, channel, color);
      }
    }
  }
}

}  // namespace paceline::data
