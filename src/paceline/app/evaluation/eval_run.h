#pragma once

#include "paceline/app/evaluation/eval_views.h"
#include "paceline/app/loaded_checkpoint.h"
#include "paceline/train/evaluator.h"
#include "paceline/train/tasks/sample_records.h"

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace paceline::app {

struct EvalReport {
  std::filesystem::path checkpoint;
  std::int64_t step = 0;
  std::vector<std::string> class_names;  ///< by label; empty if neither checkpoint nor data know
  train::EvalResult result;
  std::optional<train::SampleRecords> samples;  ///< of a classification
  Recipe recipe;                                ///< the checkpoint's own, with overrides and views
  DataPart part;                                ///< what was evaluated on
};

/// Evaluates the weights of a checkpoint on the validation data of its own recipe (with overrides),
/// whose classes go by the names that the checkpoint gives them, in the network that its record of
/// surgery tells; by `views`, of which rank 0 tells what they mean. Of each sample `num_told`
/// classes are kept. Every rank must call it. Throws base::Error, ConfigError for views of what is
/// no classification of images; returns nothing if a signal interrupted it.
std::optional<EvalReport> run_evaluation(const EvalRequest& request, const SessionContext& context,
                                         const EvalViews& views = {}, std::int64_t num_told = 5);

/// Which weights were exported.
struct ExportReport {
  std::filesystem::path checkpoint;
  std::int64_t step = 0;
  std::optional<checkpoint::Monitored> monitored;
  checkpoint::SurgeryRecord surgery;  ///< without which the weights mean something else
};

/// Writes the model's weights of a checkpoint, named as find_checkpoint() knows it, as one
/// safetensors file, with the step, the classes' names (a JSON list) and what was done to the
/// network in its metadata; `weights` as in EvalRequest. For one process. Throws CheckpointError.
ExportReport export_checkpoint(const std::filesystem::path& run_or_checkpoint,
                               const std::string& weights, const std::filesystem::path& output,
                               base::FileSystem& files);

}  // namespace paceline::app
