#include "paceline/optim/lr_find/lr_range.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace paceline::optim {
namespace {

constexpr double kBeta = 0.98;
constexpr double kDivergence = 4;

}  // namespace

double LrRange::rate(std::int64_t step) const {
  const std::int64_t ahead = style == LrFindStyle::kLightning && step > 0 ? 1 : 0;
  const double share = static_cast<double>(step + ahead) / static_cast<double>(num_steps);
  return low * std::pow(high / low, share);
}

LrRange usual_range(LrFindStyle style) {
  return style == LrFindStyle::kFastai ? LrRange{.style = style, .low = 1e-7, .high = 10}
                                       : LrRange{.style = style, .low = 1e-8, .high = 1};
}

std::vector<double> smoothed(const std::vector<double>& losses, LrFindStyle style) {
  const int first_exponent = style == LrFindStyle::kFastai ? 1 : 2;
  std::vector<double> means;
  double sum = 0;
  for (const double loss : losses) {
    sum = kBeta * sum + (1 - kBeta) * loss;
    const auto exponent = static_cast<double>(means.size()) + first_exponent;
    means.push_back(sum / (1 - std::pow(kBeta, exponent)));
  }
  return means;
}

bool has_diverged(const std::vector<double>& smoothed_losses, LrFindStyle style) {
  const std::size_t first = style == LrFindStyle::kFastai ? 0 : 1;
  if (smoothed_losses.size() <= first) return false;
  const double least = *std::min_element(smoothed_losses.begin(), smoothed_losses.end());
  return smoothed_losses.back() > kDivergence * least;
}

}  // namespace paceline::optim
