#pragma once

#include "paceline/app/session.h"
#include "paceline/train/evaluator.h"

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace paceline::app {

/// What `paceline eval` is asked to do.
struct EvalRequest {
  std::filesystem::path run_or_checkpoint;
  std::vector<std::string> overrides;
  std::string weights;  ///< of this algorithm, such as "ema"; empty: the trained ones
};

struct EvalReport {
  std::filesystem::path checkpoint;
  std::int64_t step = 0;
  std::vector<std::string> class_names;  ///< by label; empty if neither checkpoint nor data know
  train::EvalResult result;
};

/// Evaluates the weights of a checkpoint on the validation data of its own recipe (with overrides),
/// whose classes go by the names that the checkpoint gives them. Every rank must call it. Throws
/// base::Error; returns nothing if a signal interrupted it.
std::optional<EvalReport> run_evaluation(const EvalRequest& request, const SessionContext& context);

/// Which weights were exported.
struct ExportReport {
  std::filesystem::path checkpoint;
  std::int64_t step = 0;
  std::optional<checkpoint::Monitored> monitored;
};

/// Writes the model's weights of a checkpoint, named as find_checkpoint() knows it, as one
/// safetensors file, with the step and the classes' names (a JSON list) in its metadata; `weights`
/// as in EvalRequest. For one process. Throws CheckpointError.
ExportReport export_checkpoint(const std::filesystem::path& run_or_checkpoint,
                               const std::string& weights, const std::filesystem::path& output,
                               base::FileSystem& files);

}  // namespace paceline::app
