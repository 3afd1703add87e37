#include "paceline/train/evaluator.h"

#include "paceline/base/error.h"
#include "paceline/base/log.h"
#include "paceline/tensor/autocast.h"
#include "paceline/train/batch_feed.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <vector>

namespace paceline::train {
namespace {

/// Puts the model back into training mode at the end, also after an exception.
class EvaluationScope {
 public:
  explicit EvaluationScope(TrainModel& model) : model_(model) { model_.set_training(false); }
  ~EvaluationScope() { model_.set_training(true); }
  EvaluationScope(const EvaluationScope&) = delete;
  EvaluationScope& operator=(const EvaluationScope&) = delete;

 private:
  TrainModel& model_;
};

/// What ranks tell each other before each batch.
struct RankSums {
  double num_stopped = 0;  ///< ranks that were asked to stop
  double num_skipped = 0;  ///< samples so far
};

RankSums sum_over_ranks(bool is_stopped, std::size_t num_skipped,
                        comm::Communicator& communicator) {
  RankSums sums{is_stopped ? 1.0 : 0.0, static_cast<double>(num_skipped)};
  if (communicator.world_size() == 1) return sums;
  const at::Tensor both = at::tensor({sums.num_stopped, sums.num_skipped}, at::kDouble);
  communicator.all_reduce(both, comm::ReduceOp::kSum)->wait();
  const double* values = both.const_data_ptr<double>();
  return {values[0], values[1]};
}

void refuse_non_finite(const EvalResult& result) {
  for (const auto& [name, value] : result.values) {
    if (std::isfinite(value) || result.samples == 0) continue;
    throw base::DivergedError(fmt::format(
        "the evaluation of {} samples is not finite: {} is {}; the weights, or what they make "
        "of some of the samples, are not",
        result.samples, name, value));
  }
}

}  // namespace

bool Evaluator::add_batches(TrainModel& model, parallel::Strategy& strategy, Precision precision,
                            const RunContext& run, StepReduction& sums, SkipLimit& skips) {
  BatchFeed feed(loader_, run.device);
  feed.seek(0);
  const std::int64_t num_batches =
      std::min(loader_.batches_per_epoch(), max_batches_.value_or(loader_.batches_per_epoch()));
  std::size_t num_skipped = 0;
  for (std::int64_t number = 0; number < num_batches; ++number) {
    std::optional<Batch> taken = feed.next_unless_stopped();
    const bool is_stopped = !taken || run.received_signal.load(std::memory_order_relaxed) != 0;
    num_skipped += taken ? taken->skipped.size() : 0;
    const RankSums ranks = sum_over_ranks(is_stopped, num_skipped, run.communicator);
    if (ranks.num_stopped > 0) return false;
    Batch batch = *std::move(taken);
    sums.add_skipped(batch.skipped.size());
    skips.add(batch.skipped);
    if (ranks.num_skipped > static_cast<double>(max_skipped_)) break;  // judge() says so
    const bool is_last = number + 1 == num_batches;
    if (batch.size == 0) {
      strategy.forward_nothing();
      continue;
    }
    batch.inputs = batch.inputs.to(storage_dtype(precision));
    const tensor::AutocastGuard autocast(batch.inputs.device().type(), autocast_dtype(precision));
    const at::Tensor outputs = model.forward(batch, {});
    if (!is_last) feed.prefetch();
    const auto counts = sums.scratch_counts();
    model.count(outputs, batch, counts);
    sums.add(model.loss(outputs, batch).item<double>(), batch.size, counts);
  }
  return true;
}

void Evaluator::judge(const EvalResult& result, const SkipLimit& skips,
                      const RunContext& run) const {
  skips.check(result.skipped, "the evaluation", run.communicator);
  if (result.skipped == 0 && result.samples > 0) return;
  const std::string what = skips.describe(run.communicator);
  if (result.samples == 0) {
    throw base::DataError(
        "the evaluation counted no sample" +
        (what.empty() ? "; check data.path and train.eval_batches"
                      : fmt::format(": all {} could not be read: {}; mend or remove the files",
                                    result.skipped, what)));
  }
  if (run.is_main_rank()) {
    base::log_warning(
        "the evaluation left out {} of {} samples, which could not be read (data.on_error: skip): "
        "{}",
        result.skipped, result.skipped + result.samples, what);
  }
}

std::optional<EvalResult> Evaluator::run(TrainModel& model, parallel::Strategy& strategy,
                                         Precision precision, const RunContext& run) {
  const auto begin = std::chrono::steady_clock::now();
  const at::NoGradGuard no_grad;
  const EvaluationScope scope(model);
  StepReduction sums(run.communicator, model.count_names().size());
  SkipLimit skips(max_skipped_);
  strategy.begin_evaluation();
  const bool is_complete = add_batches(model, strategy, precision, run, sums, skips);
  strategy.end_evaluation();
  if (!is_complete) return std::nullopt;
  sums.start({});
  sums.finish();

  const Totals& totals = sums.totals();
  EvalResult result;
  result.prefix = prefix_;
  result.samples = static_cast<std::int64_t>(totals.samples);
  result.skipped = static_cast<std::int64_t>(totals.skipped);
  judge(result, skips, run);
  result.values[prefix_ + "/loss"] = totals.mean_loss();
  for (std::size_t i = 0; i < totals.counts.size(); ++i) {
    result.values[prefix_ + "/" + model.count_names()[i]] = totals.counts[i] / totals.samples;
  }
  refuse_non_finite(result);
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return result;
}

}  // namespace paceline::train
