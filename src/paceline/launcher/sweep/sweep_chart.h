#pragma once

#include "paceline/launcher/sweep/sweep_state.h"

#include <string>

namespace paceline::launcher {

/// sweep.svg: the metric over the trials, and over each key, as points; those of lower rungs are
/// paler, and the best is filled in another colour. Numbers have an axis, whose logarithm counts
/// where they are drawn so or span a factor of 100; other values stand side by side. A page without
/// points, if no trial is done.
std::string sweep_svg(const Sweep& sweep, const SearchSpace& space);

}  // namespace paceline::launcher
