#pragma once

#include "paceline/data/transforms/normalize.h"

#include <cstddef>
#include <cstdint>

namespace paceline::data {

/// Where one row of the target goes, in the order in which its pixels are written.
struct RowSink {
  float* channels[3];    ///< of the first pixel
  std::ptrdiff_t step;   ///< from pixel to pixel: 3 or 1, negative for mirrored rows
  bool is_whole = true;  ///< all pixels of the row are written by one call
};

/// Writes `count` pixels of a row, unless they are fewer than a vector has; says whether it did.
/// Other threads may see the row after hwy::FlushStream().
bool normalize_row(const std::uint8_t* pixels, int count, const NormalizeLanes& lanes,
                   const RowSink& sink);

}  // namespace paceline::data
