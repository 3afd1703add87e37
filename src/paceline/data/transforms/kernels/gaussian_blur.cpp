#include "paceline/data/transforms/kernels/gaussian_blur.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace paceline::data {
namespace {

void set_weights(int size, double sigma, std::vector<float>& weights) {
  std::vector<double> exact(static_cast<std::size_t>(size));
  for (std::size_t i = 0; i < exact.size(); ++i) {
    const double distance = (static_cast<double>(i) - (size - 1) / 2.0) / sigma;
    exact[i] = std::exp(-0.5 * distance * distance);
  }
  const double sum = std::accumulate(exact.begin(), exact.end(), 0.0);
  weights.resize(exact.size());
  std::ranges::transform(exact, weights.begin(),
                         [&](double weight) { return static_cast<float>(weight / sum); });
}

/// The sum of weights * value(number of the weight).
template <class Value>
float weighted(std::span<const float> weights, const Value& value) {
  float sum = weights[0] * value(0);
  for (int i = 1; i < static_cast<int>(weights.size()); ++i)
    sum = std::fma(weights[static_cast<std::size_t>(i)], value(i), sum);
  return sum;
}

}  // namespace

void GaussianBlur::prepare(ImageSize size, const std::array<double, 2>& sigma) {
  set_weights(size.width, sigma[0], along_rows_);
  set_weights(size.height, sigma[1], along_columns_);
}

BlurRows GaussianBlur::buffers(std::size_t row_floats) {
  const std::size_t rounded = (row_floats + kBlurBlock) / 16 * 16 + 16;
  auto* const floats = reinterpret_cast<float*>(
      rows_.reserve((along_columns_.size() + 1) * rounded * sizeof(float)));
  return {along_rows_, along_columns_, floats, floats + rounded, rounded};
}

void GaussianBlur::blur(const PixelView& source, std::uint8_t* target, std::ptrdiff_t stride) {
  const std::size_t width = static_cast<std::size_t>(source.size.width) + along_rows_.size();
  blur_rows(source, buffers(3 * width), target, stride);
}

void GaussianBlur::blur(const FloatField& field) {
  blur_rows(field, buffers(static_cast<std::size_t>(field.size.width) + along_rows_.size()));
}

void GaussianBlur::blur_scalar(const PixelView& source, std::uint8_t* target,
                               std::ptrdiff_t stride) const {
  const auto [height, width] = source.size;
  const int above = static_cast<int>(along_columns_.size()) / 2;
  const int left = static_cast<int>(along_rows_.size()) / 2;
  const auto along_row = [&](int y, int x, int channel) {
    return weighted(along_rows_, [&](int i) {
      return static_cast<float>(
          source.row(y)[3 * mirrored_index(x - left + i, source.size.width) + channel]);
    });
  };
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      for (int channel = 0; channel < 3; ++channel) {
        const float mean = weighted(along_columns_, [&](int i) {
          return along_row(mirrored_index(y - above + i, source.size.height), x, channel);
        });
        target[y * stride + std::ptrdiff_t{3} * x + channel] =
            static_cast<std::uint8_t>(std::clamp(std::nearbyint(mean), 0.0f, 255.0f));
      }
    }
  }
}

}  // namespace paceline::data
