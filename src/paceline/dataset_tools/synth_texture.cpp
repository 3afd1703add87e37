#include "paceline/dataset_tools/synth_texture.h"

#include <cmath>
#include <cstddef>

namespace paceline::dataset_tools {
namespace {

// As in synth_digit.cpp: only sqrt, floor, sums and products.

/// From 0 to 1 with no slope at either end, so that cells have no edges.
double eased(double share) { return share * share * (3 - 2 * share); }

double between(double from, double to, double share) { return from + (to - from) * share; }

}  // namespace

Texture::Texture(int side, base::Philox& draws) {
  stripes_share_ = draws.uniform();
  const double x = draws.uniform(-1, 1);
  const double y = draws.uniform(-1, 1);
  const double periods = draws.uniform(0.06, 0.3) / std::sqrt(x * x + y * y + 1e-9);
  along_x_ = periods * x;
  along_y_ = periods * y;
  start_ = draws.uniform();
  cell_ = draws.uniform(2, 9);
  spots_a_row_ = static_cast<int>(std::floor(side / cell_)) + 2;
  for (int i = 0; i < spots_a_row_ * spots_a_row_; ++i) spots_.push_back(draws.uniform(-1, 1));
}

double Texture::at(double x, double y) const {
  return between(spots(x, y), stripes(x, y), stripes_share_);
}

double Texture::stripes(double x, double y) const {
  const double place = start_ + along_x_ * x + along_y_ * y;
  return 4 * std::abs(place - std::floor(place) - 0.5) - 1;
}

double Texture::spots(double x, double y) const {
  const double row = std::floor(y / cell_);
  const double column = std::floor(x / cell_);
  const auto first = static_cast<std::size_t>(row * spots_a_row_ + column);
  const std::size_t below = first + static_cast<std::size_t>(spots_a_row_);
  const double right = eased(x / cell_ - column);
  const double down = eased(y / cell_ - row);
  return between(between(spots_[first], spots_[first + 1], right),
                 between(spots_[below], spots_[below + 1], right), down);
}

}  // namespace paceline::dataset_tools
