#pragma once

#include "paceline/base/philox.h"
#include "paceline/config/problems.h"
#include "paceline/config/sides.h"
#include "paceline/data/image/pixels.h"

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <string_view>

namespace paceline::data {

/// Python's round(): halves go to the even neighbour.
inline int round_to_even(double value) { return static_cast<int>(std::nearbyint(value)); }

/// One of 0 .. bound - 1.
inline int draw_below(base::Philox& draws, int bound) {
  return static_cast<int>(draws.below(static_cast<std::uint64_t>(bound)));
}

inline double draw_from(const std::array<double, 2>& range, base::Philox& draws) {
  return draws.uniform(range[0], range[1]);
}

/// The filter itself; kRandom draws one of two.
template <class Filter>
Filter draw_filter(Filter filter, base::Philox& draws) {
  if (filter != Filter::kRandom) return filter;
  return draws.below(2) == 0 ? Filter::kBilinear : Filter::kBicubic;
}

/// Which of `shares`, whose sum is above 0; one uniform number.
inline std::size_t draw_share(std::span<const double> shares, base::Philox& draws) {
  double left = std::accumulate(shares.begin(), shares.end(), 0.0) * draws.uniform();
  std::size_t last = 0;
  for (std::size_t i = 0; i < shares.size(); ++i) {
    if (shares[i] == 0) continue;
    if (left < shares[i]) return i;
    left -= shares[i];
    last = i;  // where rounding leaves something of the sum
  }
  return last;
}

/// For Schema::validate: a problem unless the lowest number of a range comes first.
inline void check_order(std::string_view field, const std::array<double, 2>& range,
                        config::Problems& problems) {
  if (range[0] > range[1]) problems.add(field, "the lowest comes first, got the higher one");
}

/// The size of an image with these sides.
inline ImageSize image_size(const config::Sides& sides) { return {sides.height(), sides.width()}; }

/// For Schema::validate: a problem unless there is a side, or height and width.
inline void check_image_sides(std::string_view field, const config::Sides& sides,
                              config::Problems& problems) {
  if (sides.lengths.size() > 2)
    problems.add(field, "an image has a side or [height, width], got " + sides.to_string());
}

}  // namespace paceline::data
