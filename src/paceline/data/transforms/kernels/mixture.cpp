#include "paceline/data/transforms/kernels/mixture.h"

#include <algorithm>

namespace paceline::data {

void Mixture::begin(ImageSize size) {
  size_ = size;
  const std::size_t count = row_floats() * static_cast<std::size_t>(size.height);
  auto* const floats = reinterpret_cast<float*>(sums_.reserve(count * sizeof(float)));
  std::fill_n(floats, count, 0.0f);
}

void Mixture::add(const PixelView& image, float share) {
  const auto count = std::size_t{3} * static_cast<std::size_t>(size_.width);
  for (int y = 0; y < size_.height; ++y) add_bytes(image.row(y), count, share, row(y));
}

void Mixture::scale(float factor) {
  const auto count = std::size_t{3} * static_cast<std::size_t>(size_.width);
  for (int y = 0; y < size_.height; ++y) {
    float* const sums = row(y);
    for (std::size_t i = 0; i < count; ++i) sums[i] *= factor;
  }
}

void Mixture::blend(const PixelView& image, float share) {
  const auto count = std::size_t{3} * static_cast<std::size_t>(size_.width);
  for (int y = 0; y < size_.height; ++y) {
    float* const sums = row(y);
    const std::uint8_t* const bytes = image.row(y);
    for (std::size_t i = 0; i < count; ++i) {
      const auto own = static_cast<float>(bytes[i]);
      const auto sum = static_cast<float>(static_cast<int>(std::clamp(sums[i], 0.0f, 255.0f)));
      sums[i] = own + share * (sum - own);
    }
  }
}

void Mixture::write(std::uint8_t* target, std::ptrdiff_t stride) {
  const auto count = std::size_t{3} * static_cast<std::size_t>(size_.width);
  for (int y = 0; y < size_.height; ++y) cut_off_bytes(row(y), count, target + y * stride);
}

std::size_t Mixture::row_floats() const {
  return std::size_t{3} * static_cast<std::size_t>(size_.width) + kMixtureSlack;
}

float* Mixture::row(int y) {
  return reinterpret_cast<float*>(sums_.data()) + static_cast<std::size_t>(y) * row_floats();
}

void add_bytes_scalar(const std::uint8_t* bytes, std::size_t count, float share, float* sums) {
  for (std::size_t i = 0; i < count; ++i) sums[i] += share * static_cast<float>(bytes[i]);
}

void cut_off_bytes_scalar(const float* sums, std::size_t count, std::uint8_t* bytes) {
  for (std::size_t i = 0; i < count; ++i)
    bytes[i] = static_cast<std::uint8_t>(std::clamp(sums[i], 0.0f, 255.0f));
}

}  // namespace paceline::data
