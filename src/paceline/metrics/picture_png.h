#pragma once

#include "paceline/metrics/metric_sink.h"

#include <string>

namespace paceline::metrics {

/// A picture as a PNG file. Throws InternalError if it has not as many pixels as its size says.
std::string encode_png(const Picture& picture);

}  // namespace paceline::metrics
