#pragma once

#include "paceline/data/loader/loader.h"
#include "paceline/parallel/strategy.h"
#include "paceline/train/precision.h"
#include "paceline/train/run_context.h"
#include "paceline/train/task.h"
#include "paceline/train/watch/skip_limit.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace paceline::train {

/// What a task gives out for consecutive samples.
struct Predictions {
  tensor::Fields fields;  ///< contiguous, in host memory; the first dimension are samples
  std::vector<std::int64_t> indices;  ///< of these in the data set
  /// Of samples among these that could not be read: each by its place, and what is wrong with it.
  std::vector<std::string> skipped;
};

/// Has a task predict all samples of a loader, each once whatever the number of ranks.
class Predictor {
 public:
  /// Called on rank 0 alone, batch after batch in the loader's order. There are no fields where no
  /// sample of a batch could be read.
  using Take = std::function<void(const Predictions& predictions)>;

  /// `loader` as an Evaluator's.
  explicit Predictor(data::DataLoader& loader,
                     std::optional<std::int64_t> max_batches = std::nullopt,
                     std::int64_t max_skipped = SkipLimit::kNone)
      : loader_(loader), max_batches_(max_batches), max_skipped_(max_skipped) {}

  /// From now on predictions have these fields of the batches, too, as far as those have them.
  void add_inputs(std::vector<std::string> names) { inputs_ = std::move(names); }

  /// `strategy` and `step` as in Evaluator::run(). Every rank must call it. Returns false if a
  /// signal on any rank interrupted it. What `take` throws, all ranks throw; likewise DataError
  /// when more samples than `max_skipped` could not be read, and InternalError where a task gives
  /// out fields that change from batch to batch.
  bool run(Task& task, parallel::Strategy& strategy, Precision precision, std::int64_t step,
           const RunContext& run, const Take& take);

 private:
  tensor::Fields given_out(Task& task, const Batch& batch, const nn::ForwardContext& context) const;

  data::DataLoader& loader_;
  std::optional<std::int64_t> max_batches_;
  std::int64_t max_skipped_;
  std::vector<std::string> inputs_;
};

}  // namespace paceline::train
