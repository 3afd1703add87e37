#pragma once

#include "paceline/data/ct/plugin/dicom_slice.h"

#include <vector>

namespace paceline::data {

/// Puts slices of one series into the order of their places along the normal. Throws DataError
/// unless they make an even stack: of one size, direction and spacing, none missing or double, not
/// shifted and not tilted.
void order_slices(std::vector<CtSlice>& slices);

}  // namespace paceline::data
