#pragma once

#include "paceline/app/evaluation/eval_run.h"

#include <string>

#include <nlohmann/json.hpp>

namespace paceline::cli {

// Both of a report that has patients.

/// A table for people: of each patient and of all, by stage, the qualities of one sample and of the
/// mean of several.
std::string patient_report_text(const app::EvalReport& report);

/// A list for programs: of each patient its name and qualities, named as the metrics.
nlohmann::json patient_report_json(const app::EvalReport& report);

}  // namespace paceline::cli
