#include "paceline/app/batch_find/batch_search.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace paceline::app {
namespace {

constexpr std::int64_t kStep = 8;
constexpr std::array<std::int64_t, 3> kBelowStep{4, 2, 1};
constexpr std::size_t kFirstSizes = 3;
/// What is predicted to be no more than a thirtieth above is not worth another try.
constexpr double kNearEnough = 0.97;

}  // namespace

std::int64_t BatchSearch::size_below(std::int64_t samples) {
  if (samples > kStep) return (samples - 1) / kStep * kStep;
  for (const std::int64_t few : kBelowStep) {
    if (few < samples) return few;
  }
  return 0;
}

std::vector<BatchTry> BatchSearch::fitting() const {
  std::vector<BatchTry> found;
  for (const BatchTry& made : tries_) {
    if (made.fits && made.samples >= kStep) found.push_back(made);
  }
  std::ranges::sort(found, {}, &BatchTry::samples);
  return found;
}

BatchSearch::Line BatchSearch::line_upwards() const {
  const std::vector<BatchTry> points = fitting();
  if (points.size() > kFirstSizes) {
    const BatchTry& last = points.back();
    const BatchTry& before = points[points.size() - 2];
    const double slope =
        (last.bytes - before.bytes) / static_cast<double>(last.samples - before.samples);
    return {last.bytes - slope * static_cast<double>(last.samples), slope};
  }
  double mean_samples = 0, mean_bytes = 0;
  for (const BatchTry& point : points) {
    mean_samples += static_cast<double>(point.samples) / static_cast<double>(points.size());
    mean_bytes += point.bytes / static_cast<double>(points.size());
  }
  double products = 0, squares = 0;
  for (const BatchTry& point : points) {
    const double samples = static_cast<double>(point.samples) - mean_samples;
    products += samples * (point.bytes - mean_bytes);
    squares += samples * samples;
  }
  const double slope = products / squares;
  return {mean_bytes - slope * mean_samples, slope};
}

std::int64_t BatchSearch::largest_on(const Line& line, std::int64_t most) const {
  if (line.per_sample <= 0) return most;
  const double samples = (limit_bytes_ - line.fixed) / line.per_sample;
  if (samples >= static_cast<double>(most)) return most;
  return samples < 1 ? 0 : size_below(static_cast<std::int64_t>(samples) + 1);
}

// By what was too much at once; after a second refusal, of which only a part of the excess may be
// known, by halves.
std::int64_t BatchSearch::below_refused(std::int64_t upper) const {
  std::int64_t middle = fits_ + (upper - fits_) / (2 * kStep) * kStep;
  if (num_too_large_ < 2) {
    const std::vector<BatchTry> points = fitting();
    const BatchTry& last = points.back();
    const double slope =
        (too_large_->bytes - last.bytes) / static_cast<double>(too_large_->samples - last.samples);
    const double fixed = last.bytes - slope * static_cast<double>(last.samples);
    if (points.size() == kFirstSizes) middle = largest_on({fixed, slope}, upper);
  }
  return std::clamp(middle, fits_ + kStep, upper);
}

std::int64_t BatchSearch::next() const {
  const std::int64_t most =
      size_below(too_large_ ? std::min(too_large_->samples, most_samples_ + 1) : most_samples_ + 1);
  if (most <= fits_) return fits_;
  if (fits_ < kStep) return fits_ == 0 ? std::min(most, kStep) : fits_;
  if (fitting().size() < kFirstSizes) return fits_ + kStep;
  const std::int64_t upper = largest_on(line_upwards(), most);
  if (upper <= fits_ || kNearEnough * static_cast<double>(upper) <= static_cast<double>(fits_))
    return fits_;
  return too_large_ ? below_refused(upper) : upper;
}

void BatchSearch::add(const BatchTry& made) {
  tries_.push_back(made);
  if (made.fits) {
    fits_ = std::max(fits_, made.samples);
    return;
  }
  if (fitting().size() >= kFirstSizes) ++num_too_large_;
  if (!too_large_ || made.samples < too_large_->samples) too_large_ = made;
}

std::optional<double> BatchSearch::predict(std::int64_t samples) const {
  if (fitting().size() < kFirstSizes) return std::nullopt;
  const Line line = line_upwards();
  return line.fixed + line.per_sample * static_cast<double>(samples);
}

}  // namespace paceline::app
