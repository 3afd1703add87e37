#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace paceline::app {

/// What so many samples of a rank at once took.
struct BatchTry {
  std::int64_t samples = 0;
  bool fits = false;  ///< on every rank
  /// The most that this rank held, in bytes; where it was refused more, at least so much.
  double bytes = 0;
  std::optional<double> predicted = {};  ///< nothing for the first sizes
};

/// Looks for the largest batch that fits into a rank's memory: a multiple of 8, or 4, 2 or 1 where
/// 8 do not fit. What is held at a time of the step is linear in the samples, so the most of it is
/// convex: a line through sizes that were tried tells too little for larger ones, never too much.
/// The first three sizes give a line; what it predicts is tried, and lowered by the excess if it
/// does not fit. A size is the answer only if it was tried and fits.
///
/// A rank by itself: ranks that look together try the least that any of them asks for (next()) and
/// tell each other whether it fits, so that all of them know the same answer.
class BatchSearch {
 public:
  /// `most_samples`: of a rank, by the data.
  BatchSearch(double limit_bytes, std::int64_t most_samples)
      : limit_bytes_(limit_bytes), most_samples_(most_samples) {}

  /// What to try next; found() or less when nothing more is to be tried.
  std::int64_t next() const;
  void add(const BatchTry& made);
  /// The largest that was tried and fits; 0: none.
  std::int64_t found() const { return fits_; }
  /// Whether the data have no more samples than were found to fit.
  bool ends_with_data() const { return found() > 0 && found() == size_below(most_samples_ + 1); }
  const std::vector<BatchTry>& tries() const { return tries_; }

  /// By the line that is known; nothing before there is one.
  std::optional<double> predict(std::int64_t samples) const;

 private:
  struct Line {
    double fixed = 0;
    double per_sample = 0;
  };
  /// The largest size that may be tried and is smaller; 0 for none.
  static std::int64_t size_below(std::int64_t samples);
  std::vector<BatchTry> fitting() const;
  /// Which tells too little for larger sizes.
  Line line_upwards() const;
  std::int64_t largest_on(const Line& line, std::int64_t most) const;
  std::int64_t below_refused(std::int64_t upper) const;

  double limit_bytes_;
  std::int64_t most_samples_;
  std::int64_t fits_ = 0;
  std::optional<BatchTry> too_large_;  ///< the smallest that does not fit
  int num_too_large_ = 0;              ///< that were predicted to fit
  std::vector<BatchTry> tries_;        ///< in their order
};

}  // namespace paceline::app
