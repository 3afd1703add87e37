#pragma once

#include "paceline/app/evaluation/eval_run.h"

#include <span>
#include <string>

namespace paceline::app {

/// An evaluation as one HTML page that needs nothing else: what was measured, the samples with the
/// highest loss as pictures, confusions (a matrix of up to 30 classes), calibration, a table of
/// classes that can be sorted, the recipe and the checkpoint. `facts` are what else a reader should
/// know, a line each. Reads the pictures from the report's data.
std::string eval_page(const EvalReport& report, std::span<const std::string> facts);

}  // namespace paceline::app
