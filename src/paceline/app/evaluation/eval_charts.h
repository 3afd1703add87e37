#pragma once

#include "paceline/app/evaluation/eval_details.h"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace paceline::app {

/// How right what was told with a probability was, as SVG: a bar for each bin that has samples,
/// beside the line of equal confidence and accuracy, and below how many samples there are.
std::string calibration_svg(const std::vector<CalibrationBin>& bins);

/// Counts as an HTML table, a row for each class and a column for each that it was told as, shaded
/// by the share of the row.
std::string confusion_table(const std::vector<std::vector<std::int64_t>>& matrix,
                            std::span<const std::string> class_names);

}  // namespace paceline::app
