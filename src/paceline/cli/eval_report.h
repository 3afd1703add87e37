#pragma once

#include "paceline/app/evaluation/eval_run.h"

#include <span>
#include <string>

namespace paceline::cli {

/// For people: metrics, and of a classification the classes, confusions and samples that went
/// worst.
std::string eval_report_text(const app::EvalReport& report);

/// For programs: one JSON object; `views` are what describe() tells of them.
std::string eval_report_json(const app::EvalReport& report, std::span<const std::string> views);

}  // namespace paceline::cli
