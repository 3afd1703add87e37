#pragma once

#include "paceline/data/loader/loader.h"
#include "paceline/train/engine.h"
#include "paceline/train/precision.h"
#include "paceline/train/run_context.h"
#include "paceline/train/step_reduction.h"
#include "paceline/train/train_state.h"
#include "paceline/train/watch/skip_limit.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace paceline::train {

struct EvalResult {
  std::string prefix;  ///< of the names
  std::map<std::string, double>
      values;                ///< "<prefix>/loss" and one per metric of the task, if defined
  std::int64_t samples = 0;  ///< that were counted, over all ranks
  std::int64_t skipped = 0;  ///< that could not be read and are missing in the values
  double seconds = 0;
  std::optional<ClassTable> table = std::nullopt;  ///< if it was asked for and the task has one
  /// On rank 0, if they were asked for, with the prefix before their names.
  std::vector<metrics::Picture> pictures = {};

  /// The same as of weights that are the trained ones still.
  EvalResult of_weights(std::string_view weights) const {
    EvalResult same{.prefix = {}, .values = {}, .samples = samples, .skipped = skipped};
    for (const auto& [name, value] : values)
      same.values[prefix + "_" + std::string(weights) + name.substr(prefix.size())] = value;
    return same;
  }
  /// What one event of the log tells: the values and pictures of another evaluation of the same
  /// samples, too.
  EvalResult with(const EvalResult& other) const {
    EvalResult both = *this;
    both.values.insert(other.values.begin(), other.values.end());
    both.pictures.insert(both.pictures.end(), other.pictures.begin(), other.pictures.end());
    both.seconds += other.seconds;
    return both;
  }
};

/// Evaluates a task on all samples of a loader, each counted once whatever the number of ranks.
class Evaluator {
 public:
  /// `loader` gives every rank the same number of batches, some of them perhaps empty.
  Evaluator(data::DataLoader& loader, std::string prefix,
            std::optional<std::int64_t> max_batches = std::nullopt,
            std::int64_t max_skipped = SkipLimit::kNone)
      : loader_(loader),
        prefix_(std::move(prefix)),
        max_batches_(max_batches),
        max_skipped_(max_skipped) {}

  /// From now on results have tables of classes.
  void tell_classes() { tells_classes_ = true; }
  /// From now on results have the task's pictures.
  void show_pictures() { shows_pictures_ = true; }
  /// From now on `measure`, which must outlive the next run(), is shown the batches too, and
  /// finished where the task's own is; what it measures is not in the result.
  void show_to(EvalMeasure& measure) { shown_to_ = &measure; }

  /// `strategy` holds the task's parameters; `step` is how many steps they were trained, `weights`
  /// what they are called if they are not the trained ones: names begin with PREFIX_WEIGHTS then.
  /// Every rank must call it. Returns nothing if a signal on any rank interrupted it. Throws, on
  /// all ranks, DataError when more samples than `max_skipped` could not be read, or none was
  /// counted, and DivergedError for a result that is not finite.
  std::optional<EvalResult> run(Task& task, parallel::Strategy& strategy, Precision precision,
                                std::int64_t step, const RunContext& run,
                                std::string_view weights = {});

 private:
  /// What an evaluation adds up, batch by batch.
  struct Sums {
    StepReduction& totals;
    EvalMeasure* measure;  ///< may be null
    SkipLimit& skips;
    std::vector<metrics::Picture> pictures = {};
  };
  /// False if a signal interrupted it.
  bool add_batches(Task& task, parallel::Strategy& strategy, Precision precision, std::int64_t step,
                   const RunContext& run, Sums& sums);
  void add_batch(Task& task, const Batch& batch, const nn::ForwardContext& context,
                 const RunContext& run, Sums& sums) const;

  /// Throws on every rank if the result is not one; rank 0 warns of what was left out.
  void judge(const EvalResult& result, const SkipLimit& skips, const RunContext& run) const;

  data::DataLoader& loader_;
  std::string prefix_;
  std::optional<std::int64_t> max_batches_;
  std::int64_t max_skipped_;
  bool tells_classes_ = false;
  bool shows_pictures_ = false;
  EvalMeasure* shown_to_ = nullptr;
};

}  // namespace paceline::train
