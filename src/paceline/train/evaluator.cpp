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

bool Evaluator::any_rank_is_interrupted(const RunContext& run) const {
  const bool own = run.received_signal.load(std::memory_order_relaxed) != 0;
  if (run.communicator.world_size() == 1) return own;
  const at::Tensor flag = at::full({1}, own ? 1.0 : 0.0, at::kDouble);
  run.communicator.all_reduce(flag, comm::ReduceOp::kMax)->wait();
  return *flag.const_data_ptr<double>() != 0;
}

bool Evaluator::add_batches(TrainModel& model, parallel::Strategy& strategy, Precision precision,
                            const RunContext& run, StepReduction& sums, SkipLimit& skips) {
  BatchFeed feed(loader_, run.device);
  feed.seek(0);
  const std::int64_t num_batches =
      std::min(loader_.batches_per_epoch(), max_batches_.value_or(loader_.batches_per_epoch()));
  for (std::int64_t number = 0; number < num_batches; ++number) {
    if (any_rank_is_interrupted(run)) return false;
    Batch batch = feed.next();
    sums.add_skipped(batch.skipped.size());
    skips.add(batch.skipped);
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
