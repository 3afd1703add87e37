#pragma once

#include "paceline/base/philox.h"

#include <vector>

namespace paceline::dataset_tools {

/// What runs through paper or ink: stripes of a drawn width and direction over spots of a drawn
/// size, in drawn shares. To the bit the same on every machine.
class Texture {
 public:
  /// For pixels from 0 to `side` both ways.
  Texture(int side, base::Philox& draws);

  /// At a point of the picture, in pixels; from -1 to 1.
  double at(double x, double y) const;

 private:
  double stripes(double x, double y) const;
  double spots(double x, double y) const;

  double stripes_share_;
  double along_x_, along_y_, start_;  ///< of the stripes, in periods: by a pixel, and at 0, 0
  double cell_;                       ///< of the spots, in pixels
  int spots_a_row_;
  std::vector<double> spots_;  ///< at the corners of cells, by rows
};

}  // namespace paceline::dataset_tools
