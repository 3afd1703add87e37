#include "paceline/optim/lr_find/lr_rules.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

namespace paceline::optim {
namespace {

constexpr std::size_t kLeastPoints = 2;  // one alone is lower than none

/// Without so many points at either end.
LrCurve cut(const LrCurve& curve, std::size_t from_front, std::size_t from_back) {
  const std::size_t size = curve.rates.size();
  if (size <= from_front + from_back) return {};
  LrCurve rest;
  for (std::size_t i = from_front; i < size - from_back; ++i) {
    rest.rates.push_back(curve.rates[i]);
    rest.losses.push_back(curve.losses[i]);
  }
  return rest;
}

/// As fastai's rules see it: smoothed, without the first tenth of the test and the last five
/// points, and up to the first loss that is not a number.
LrCurve as_fastai_sees(const LrCurve& curve, std::int64_t num_steps) {
  constexpr std::size_t kLast = 5;
  LrCurve seen = cut({curve.rates, smoothed(curve.losses, LrFindStyle::kFastai)},
                     static_cast<std::size_t>(num_steps / 10), kLast);
  const auto end = std::ranges::find_if(seen.losses, [](double loss) { return std::isnan(loss); });
  const auto count = static_cast<std::size_t>(end - seen.losses.begin());
  seen.losses.resize(count);
  seen.rates.resize(count);
  return seen;
}

/// Smoothed, without the first ten points and the last, and without losses that are not finite.
LrCurve as_lightning_sees(const LrCurve& curve) {
  constexpr std::size_t kFirst = 10;
  const LrCurve rest =
      cut({curve.rates, smoothed(curve.losses, LrFindStyle::kLightning)}, kFirst, 1);
  LrCurve seen;
  for (std::size_t i = 0; i < rest.rates.size(); ++i) {
    if (!std::isfinite(rest.losses[i])) continue;
    seen.rates.push_back(rest.rates[i]);
    seen.losses.push_back(rest.losses[i]);
  }
  return seen;
}

std::optional<double> valley(const LrCurve& curve) {
  const std::vector<double>& losses = curve.losses;
  if (losses.size() < kLeastPoints) return std::nullopt;
  std::vector<std::size_t> lengths(losses.size(), 1);  // of the longest that ends there
  std::size_t longest = 1, end = 0;
  for (std::size_t i = 1; i < losses.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      if (losses[i] < losses[j]) lengths[i] = std::max(lengths[i], lengths[j] + 1);
    }
    if (lengths[i] <= longest) continue;
    longest = lengths[i];
    end = i;
  }
  if (longest == 1) return curve.rates.front();  // it falls nowhere
  return curve.rates[end - longest + longest / 3 + longest / 6];
}

std::optional<double> minimum(const LrCurve& curve) {
  if (curve.losses.size() < kLeastPoints) return std::nullopt;
  const auto least = std::ranges::min_element(curve.losses);
  return curve.rates[static_cast<std::size_t>(least - curve.losses.begin())] / 10;
}

/// Slopes at points that are equally far apart, as numpy.gradient.
std::vector<double> slopes(const std::vector<double>& values) {
  const std::size_t last = values.size() - 1;
  std::vector<double> slopes;
  for (std::size_t i = 0; i <= last; ++i) {
    const std::size_t left = i == 0 ? 0 : i - 1, right = std::min(i + 1, last);
    slopes.push_back((values[right] - values[left]) / static_cast<double>(right - left));
  }
  return slopes;
}

std::optional<double> slide(const LrCurve& curve) {
  constexpr std::size_t kDistance = 15;
  constexpr double kThreshold = 0.005;
  const std::size_t size = curve.losses.size();
  if (size <= kDistance) return std::nullopt;
  const std::vector<double> slope = slopes(curve.losses);
  std::size_t right = size - 1;
  double rate = curve.rates[right - kDistance];
  for (; std::abs(slope[right] - slope[right - kDistance]) > kThreshold; --right) {
    rate = curve.rates[right - kDistance];
    if (right == kDistance) break;
  }
  return rate;
}

/// The slope by the rate at a point between others, whose distances differ, as torch.gradient.
double slope_at(const LrCurve& curve, std::size_t i) {
  const std::vector<double>&x = curve.rates, &y = curve.losses;
  const std::size_t last = x.size() - 1;
  if (i == 0) return (y[1] - y[0]) / (x[1] - x[0]);
  if (i == last) return (y[last] - y[last - 1]) / (x[last] - x[last - 1]);
  const double before = x[i] - x[i - 1], after = x[i + 1] - x[i];
  return -after / (before * (before + after)) * y[i - 1] +
         (after - before) / (before * after) * y[i] +
         before / (after * (before + after)) * y[i + 1];
}

std::optional<double> steepest(const LrCurve& curve) {
  if (curve.rates.size() < kLeastPoints) return std::nullopt;
  std::size_t best = 0;
  for (std::size_t i = 1; i < curve.rates.size(); ++i) {
    if (slope_at(curve, i) < slope_at(curve, best)) best = i;
  }
  return curve.rates[best];
}

}  // namespace

LrRule usual_rule(LrFindStyle style) {
  return style == LrFindStyle::kFastai ? LrRule::kValley : LrRule::kSteepest;
}

std::optional<double> suggested_rate(LrRule rule, const LrCurve& curve, std::int64_t num_steps) {
  switch (rule) {
    case LrRule::kValley:
      return valley(as_fastai_sees(curve, num_steps));
    case LrRule::kMinimum:
      return minimum(as_fastai_sees(curve, num_steps));
    case LrRule::kSlide:
      return slide(as_fastai_sees(curve, num_steps));
    case LrRule::kSteepest:
      break;
  }
  return steepest(as_lightning_sees(curve));
}

}  // namespace paceline::optim
