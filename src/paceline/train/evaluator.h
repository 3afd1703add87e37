#pragma once

#include "paceline/data/loader.h"
#include "paceline/train/engine.h"
#include "paceline/train/precision.h"
#include "paceline/train/run_context.h"
#include "paceline/train/step_reduction.h"
#include "paceline/train/train_state.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>

namespace paceline::train {

struct EvalResult {
  std::map<std::string, double> values;  ///< "<prefix>/loss" and one per count of the model
  std::int64_t samples = 0;
  double seconds = 0;
};

/// Evaluates a model on all samples of a loader, each counted once whatever the number of ranks.
class Evaluator {
 public:
  /// `loader` gives every rank the same number of batches, some of them perhaps empty.
  Evaluator(data::DataLoader& loader, std::string prefix,
            std::optional<std::int64_t> max_batches = std::nullopt)
      : loader_(loader), prefix_(std::move(prefix)), max_batches_(max_batches) {}

  /// `strategy` holds the model's parameters. Every rank must call it. Returns nothing if a signal
  /// on any rank interrupted it.
  std::optional<EvalResult> run(TrainModel& model, parallel::Strategy& strategy,
                                Precision precision, const RunContext& run);

 private:
  bool any_rank_is_interrupted(const RunContext& run) const;
  /// Adds up the losses and counts of the batches; false if a signal interrupted it.
  bool add_batches(TrainModel& model, parallel::Strategy& strategy, Precision precision,
                   const RunContext& run, StepReduction& sums);

  data::DataLoader& loader_;
  std::string prefix_;
  std::optional<std::int64_t> max_batches_;
};

}  // namespace paceline::train
