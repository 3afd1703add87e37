#include "paceline/dataset_tools/ct/triangle_filter.h"

#include <algorithm>
#include <cmath>

namespace paceline::dataset_tools {

std::vector<TriangleTaps> triangle_taps(std::int64_t inputs, std::int64_t outputs, double step) {
  std::vector<TriangleTaps> all(static_cast<std::size_t>(outputs));
  const double reach = std::max(1.0, step);
  const auto last = static_cast<double>(inputs - 1);
  for (std::int64_t output = 0; output < outputs; ++output) {
    const double from_middle = static_cast<double>(output) - static_cast<double>(outputs - 1) / 2;
    const double place = last / 2 + from_middle * step;
    if (place < -0.5 || place > last + 0.5) continue;
    TriangleTaps& taps = all[static_cast<std::size_t>(output)];
    taps.first = static_cast<std::int64_t>(std::ceil(std::max(0.0, place - reach)));
    const auto end = static_cast<std::int64_t>(std::floor(std::min(last, place + reach)));
    double sum = 0;
    std::vector<double> weights;
    for (std::int64_t input = taps.first; input <= end; ++input) {
      weights.push_back(std::max(0.0, 1 - std::abs(static_cast<double>(input) - place) / reach));
      sum += weights.back();
    }
    for (const double weight : weights) taps.weights.push_back(static_cast<float>(weight / sum));
  }
  return all;
}

std::vector<float> resample_axis(std::span<const float> values, std::size_t inputs,
                                 std::size_t inner, const std::vector<TriangleTaps>& taps,
                                 float outside) {
  const std::size_t outer = values.size() / (inputs * inner);
  std::vector<float> resampled(outer * taps.size() * inner);
  float* out = resampled.data();
  for (std::size_t block = 0; block < outer; ++block) {
    const float* const in = values.data() + block * inputs * inner;
    for (const TriangleTaps& tap : taps) {
      if (tap.weights.empty()) std::fill_n(out, inner, outside);
      for (std::size_t i = 0; i < tap.weights.size(); ++i) {
        const float* const row = in + (static_cast<std::size_t>(tap.first) + i) * inner;
        for (std::size_t j = 0; j < inner; ++j) out[j] += tap.weights[i] * row[j];
      }
      out += inner;
    }
  }
  return resampled;
}

}  // namespace paceline::dataset_tools
