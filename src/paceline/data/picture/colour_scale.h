#pragma once

#include "paceline/data/picture/canvas.h"

#include <string>

namespace paceline::data {

enum class ColourMap {
  kGrey,       ///< black to white
  kDiverging,  ///< blue through white to red, for differences
  kSequential  ///< black through violet and orange to pale yellow, ever brighter
};

/// How numbers become colours.
struct ColourScale {
  ColourMap map = ColourMap::kGrey;
  double low = 0;   ///< the first colour's; smaller numbers have it, too
  double high = 1;  ///< the last one's, likewise
  std::string unit = {};

  /// Of what is no number, which no map has: green.
  Colour at(double value) const;
};

/// The smallest of 1, 1.5, 2, 3, 4, 5, 6 and 8 times a power of ten that is not below a positive
/// number: an end of a scale.
double round_end(double value);

}  // namespace paceline::data
