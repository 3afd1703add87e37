#include "paceline/data/transforms/resample_axis.h"

#include "paceline/base/error.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numbers>

namespace paceline::data {
namespace {

// The order of the operations is Pillow's: another one rounds differently.
double bilinear_filter(double x) {
  x = std::abs(x);
  return x < 1.0 ? 1.0 - x : 0.0;
}

double bicubic_filter(double x) {
  constexpr double kA = -0.5;
  x = std::abs(x);
  if (x < 1.0) return ((kA + 2.0) * x - (kA + 3.0)) * x * x + 1;
  if (x < 2.0) return (((x - 5) * x + 8) * x - 4) * kA;
  return 0.0;
}

double box_filter(double x) { return x > -0.5 && x <= 0.5 ? 1.0 : 0.0; }

double sinc(double x) {
  if (x == 0.0) return 1.0;
  x *= std::numbers::pi;
  return std::sin(x) / x;
}

double hamming_filter(double x) {
  x = std::abs(x);
  if (x == 0.0) return 1.0;  // the floats below add up to a little more
  if (x >= 1.0) return 0.0;
  return sinc(x) * (0.54f + 0.46f * std::cos(x * std::numbers::pi));  // Pillow's are floats, too
}

double lanczos_filter(double x) { return x >= -3.0 && x < 3.0 ? sinc(x) * sinc(x / 3) : 0.0; }

struct Filter {
  double (*weight)(double);
  double support;  ///< it is 0 farther than this from the middle
};

Filter filter_of(Interpolation interpolation) {
  switch (interpolation) {
    case Interpolation::kBox:
      return {box_filter, 0.5};
    case Interpolation::kBilinear:
      return {bilinear_filter, 1.0};
    case Interpolation::kHamming:
      return {hamming_filter, 1.0};
    case Interpolation::kBicubic:
      return {bicubic_filter, 2.0};
    case Interpolation::kLanczos:
      return {lanczos_filter, 3.0};
    default:
      PACELINE_CHECK(false, "interpolation {} has no filter", static_cast<int>(interpolation));
  }
}

std::int32_t to_fixed_point(double weight) {
  const double scaled = weight * (1 << ResampleAxis::kPrecisionBits);
  return static_cast<std::int32_t>(scaled < 0 ? scaled - 0.5 : scaled + 0.5);
}

int round_up(int value, int multiple) { return (value + multiple - 1) / multiple * multiple; }

}  // namespace

void ResampleAxis::prepare(int input_size, int output_size, Interpolation interpolation,
                           const Range& wanted) {
  const double scale = static_cast<double>(input_size) / output_size;
  outputs = wanted.end - wanted.begin;
  if (interpolation == Interpolation::kNearest) return take_nearest(scale, input_size, wanted);
  const Filter filter = filter_of(interpolation);
  const double filter_scale = std::max(scale, 1.0);
  const double support = filter.support * filter_scale;
  const double inverse_scale = 1.0 / filter_scale;
  make_room(std::min(static_cast<int>(std::ceil(support)) * 2 + 1, input_size));
  for (int output = 0; output < outputs; ++output) {
    const auto index = static_cast<std::size_t>(output);
    const double center = (wanted.begin + output + 0.5) * scale;
    first[index] = std::max(static_cast<int>(center - support + 0.5), 0);
    const int end = std::min(static_cast<int>(center + support + 0.5), input_size);
    count[index] = end - first[index];
    for (int tap = 0; tap < count[index]; ++tap) {
      const double x = (tap + first[index] - center + 0.5) * inverse_scale;
      exact_[static_cast<std::size_t>(tap)] = filter.weight(x);
    }
    set_weights(output);
  }
}

/// Tables of `outputs` outputs, each of so many inputs; all weights are 0.
void ResampleAxis::make_room(int most_inputs) {
  taps = round_up(most_inputs, kGroup);
  const auto padded = static_cast<std::size_t>(round_up(outputs, kGroup));
  const std::size_t total = padded * static_cast<std::size_t>(taps);
  first.assign(padded, 0);
  count.assign(padded, 0);
  weights.assign(total, 0);
  high.assign(total, 0);
  low.assign(total, 0);
  exact_.resize(static_cast<std::size_t>(taps));
}

/// Pillow adds up the steps from output 0 on, and so do we: a product rounds differently.
void ResampleAxis::take_nearest(double scale, int input_size, const Range& wanted) {
  make_room(1);
  double place = scale * 0.5;
  for (int output = 0; output < wanted.end; ++output, place += scale) {
    if (output < wanted.begin) continue;
    const auto index = static_cast<std::size_t>(output - wanted.begin);
    first[index] = std::min(static_cast<int>(place), input_size - 1);
    count[index] = 1;
    exact_[0] = 1.0;
    set_weights(output - wanted.begin);
  }
}

ResampleAxis::Range ResampleAxis::inputs() const {
  const auto last = static_cast<std::size_t>(outputs) - 1;  // whose inputs come last, too
  return {first.front(), first[last] + count[last]};
}

void ResampleAxis::count_inputs_from(int begin) {
  for (std::size_t output = 0; output < static_cast<std::size_t>(outputs); ++output)
    first[output] -= begin;
}

/// Normalises exact_ to sum 1 and stores it as weights of `output`.
void ResampleAxis::set_weights(int output) {
  const auto used = static_cast<std::size_t>(count[static_cast<std::size_t>(output)]);
  double sum = 0.0;
  for (std::size_t tap = 0; tap < used; ++tap) sum += exact_[tap];
  const std::size_t start = static_cast<std::size_t>(output) * static_cast<std::size_t>(taps);
  for (std::size_t tap = 0; tap < used; ++tap) {
    const std::int32_t weight = to_fixed_point(sum != 0.0 ? exact_[tap] / sum : exact_[tap]);
    weights[start + tap] = weight;
    high[start + tap] = static_cast<std::int16_t>(weight >> kLowBits);
    low[start + tap] = static_cast<std::int16_t>(weight & ((1 << kLowBits) - 1));
  }
}

}  // namespace paceline::data
