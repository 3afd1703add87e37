#pragma once

#include "paceline/app/loaded_checkpoint.h"
#include "paceline/train/evaluator.h"

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace paceline::app {

struct EvalReport {
  std::filesystem::path checkpoint;
  std::int64_t step = 0;
  std::vector<std::string> class_names;  ///< by label; empty if neither checkpoint nor data know
  train::EvalResult result;
};

/// Evaluates the weights of a checkpoint on the validation data of its own recipe (with overrides),
/// whose classes go by the names that the checkpoint gives them, in the network that its record of
/// surgery tells. Every rank must call it. Throws base::Error; returns nothing if a signal
/// interrupted it.
std::optional<EvalReport> run_evaluation(const EvalRequest& request, const SessionContext& context);

}  // namespace paceline::app
