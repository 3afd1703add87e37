#pragma once

#include "paceline/app/evaluation/eval_views.h"
#include "paceline/app/loaded_checkpoint.h"
#include "paceline/checkpoint/weights/weights.h"
#include "paceline/train/evaluator.h"
#include "paceline/train/tasks/sample_records.h"
#include "paceline/train/tasks/volume/patient_records.h"

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace paceline::app {

struct EvalReport {
  std::filesystem::path checkpoint;
  std::int64_t step = 0;
  std::string weights;                   ///< as LoadedCheckpoint has them
  std::vector<std::string> class_names;  ///< by label; empty if neither checkpoint nor data know
  train::EvalResult result;
  std::optional<train::SampleRecords> samples = {};    ///< of a classification
  std::optional<train::PatientRecords> patients = {};  ///< of drawn volumes
  Recipe recipe = {};                                  ///< the checkpoint's, with overrides, views
  DataPart part = {};                                  ///< what was evaluated on

  /// Whether the weights are an algorithm's.
  bool has_others_weights() const {
    return !weights.empty() && weights != checkpoint::kTrainedWeights;
  }
};

/// Evaluates the weights of a checkpoint on the validation data of its own recipe (with overrides),
/// whose classes go by the names that the checkpoint gives them, in the network that its record of
/// surgery tells; metrics are called val/... if the run's own evaluations measure these weights,
/// else val_WEIGHTS/...; by `views`, of which rank 0 tells what they mean. Of each sample
/// `num_told` classes are kept. Every rank must call it. Throws base::Error, ConfigError for views
/// of what is no classification of images; returns nothing if a signal interrupted it.
std::optional<EvalReport> run_evaluation(const EvalRequest& request, const SessionContext& context,
                                         const EvalViews& views = {}, std::int64_t num_told = 5);

}  // namespace paceline::app
