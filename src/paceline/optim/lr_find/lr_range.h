#pragma once

#include "paceline/config/schema.h"

#include <array>
#include <cstdint>
#include <vector>

namespace paceline::optim {

/// Whose learning rate range test it is.
enum class LrFindStyle { kFastai, kLightning };

/// Learning rates from `low` to `high`, of which each step takes the next.
struct LrRange {
  LrFindStyle style = LrFindStyle::kFastai;
  double low = 0;
  double high = 0;
  std::int64_t num_steps = 100;

  /// The rate of a step from 0 on. They grow exponentially: low * (high / low)^(i / num_steps) as
  /// fastai's; of Lightning's all but the first are a step ahead.
  double rate(std::int64_t step) const;
};

/// fastai's range is 1e-7 to 10, Lightning's 1e-8 to 1.
LrRange usual_range(LrFindStyle style);

/// A step's rate and the mean loss of its global batch; NaN where that was not finite.
struct LrCurve {
  std::vector<double> rates;
  std::vector<double> losses;
};

/// Means of the losses that forget the past with 0.98 a step, divided by what is still lacking of
/// their weights: 1 - 0.98^(i + 1) as fastai's, 1 - 0.98^(i + 2) as Lightning's.
std::vector<double> smoothed(const std::vector<double>& losses, LrFindStyle style);

/// Whether the newest of the smoothed losses exceeds four times the least, by which the test ends:
/// fastai looks at each, Lightning not at the first.
bool has_diverged(const std::vector<double>& smoothed_losses, LrFindStyle style);

}  // namespace paceline::optim

template <>
struct paceline::config::EnumNames<paceline::optim::LrFindStyle> {
  static constexpr std::array names{
      EnumName{paceline::optim::LrFindStyle::kFastai, "fastai"},
      EnumName{paceline::optim::LrFindStyle::kLightning, "lightning"}};
};
