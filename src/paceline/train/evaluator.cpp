#include "paceline/train/evaluator.h"

#include "paceline/base/error.h"
#include "paceline/base/log.h"
#include "paceline/tensor/autocast.h"
#include "paceline/train/batch/batch_feed.h"
#include "paceline/train/evaluation_scope.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <memory>
#include <utility>
#include <vector>

namespace paceline::train {
namespace {

/// How many batches lie between two looks of the ranks at each other, at most, and how long that
/// may take. One that was stopped goes on with passes over nothing until the next.
constexpr std::int64_t kMostBetweenLooks = 8;
constexpr double kMostSecondsBetweenLooks = 1.0;

/// Batches whose memory may wait on a device that is slower than the loader.
constexpr std::int64_t kMostQueued = 4;

/// What ranks tell each other now and then.
struct RankSums {
  double num_stopped = 0;  ///< ranks that were asked to stop
  double num_skipped = 0;  ///< samples so far
  double seconds = 0;      ///< since the last look
};

RankSums sum_over_ranks(const RankSums& own, comm::Communicator& communicator) {
  if (communicator.world_size() == 1) return own;
  const at::Tensor all = at::tensor({own.num_stopped, own.num_skipped, own.seconds}, at::kDouble);
  communicator.all_reduce(all, comm::ReduceOp::kSum)->wait();
  const double* values = all.const_data_ptr<double>();
  return {values[0], values[1], values[2]};
}

/// When ranks look at each other; the same on all of them, as only sums decide.
class Looks {
 public:
  explicit Looks(comm::Communicator& communicator) : communicator_(communicator) {}

  bool are_due(std::int64_t batch) const { return batch >= next_; }

  RankSums look(std::int64_t batch, bool is_stopped, std::size_t num_skipped) {
    const auto now = std::chrono::steady_clock::now();
    const double seconds = std::chrono::duration<double>(now - last_).count();
    last_ = now;
    const RankSums sums = sum_over_ranks(
        {is_stopped ? 1.0 : 0.0, static_cast<double>(num_skipped), seconds}, communicator_);
    const double mean = sums.seconds / communicator_.world_size();
    interval_ = mean < kMostSecondsBetweenLooks / 2 && batch > 0
                    ? std::min(kMostBetweenLooks, 2 * interval_)
                    : std::max<std::int64_t>(1, interval_ / 2);
    if (communicator_.world_size() == 1) interval_ = 1;  // nobody is asked
    next_ = batch + interval_;
    return sums;
  }

 private:
  comm::Communicator& communicator_;
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
  std::int64_t interval_ = 1;
  std::int64_t next_ = 0;
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

void add_measured(EvalMeasure::Measured measured, EvalResult& result) {
  for (const auto& [name, value] : measured.values) {
    if (!std::isnan(value)) result.values[result.prefix + "/" + name] = value;
  }
  result.table = std::move(measured.table);
}

}  // namespace

void Evaluator::add_batch(Task& task, const Batch& batch, const nn::ForwardContext& context,
                          const RunContext& run, Sums& sums) const {
  const auto evaluated = task.evaluate(batch, context);
  sums.totals.add(evaluated.loss, evaluated.sums);
  if (sums.measure != nullptr) sums.measure->add(evaluated.outputs, batch);
  if (shown_to_ != nullptr) shown_to_->add(evaluated.outputs, batch);
  if (shows_pictures_ && run.is_main_rank() && sums.pictures.empty())
    sums.pictures = task.pictures(evaluated.outputs, batch);
}

bool Evaluator::add_batches(Task& task, parallel::Strategy& strategy, Precision precision,
                            std::int64_t step, const RunContext& run, Sums& sums) {
  BatchFeed feed(loader_, run.device);
  feed.seek(0);
  const std::int64_t num_batches =
      std::min(loader_.batches_per_epoch(), max_batches_.value_or(loader_.batches_per_epoch()));
  std::size_t num_skipped = 0;
  bool lacks_batch = false;
  Looks looks(run.communicator);
  // Around all batches: weights do not change, so each is cast once.
  const tensor::AutocastGuard autocast(run.device.place().type(), autocast_dtype(precision));
  for (std::int64_t number = 0; number < num_batches; ++number) {
    if (looks.are_due(number)) {
      const bool is_stopped =
          lacks_batch || run.received_signal.load(std::memory_order_relaxed) != 0;
      const RankSums ranks = looks.look(number, is_stopped, num_skipped);
      if (ranks.num_stopped > 0) return false;
      if (ranks.num_skipped > static_cast<double>(max_skipped_)) break;  // judge() says so
    }
    std::optional<Batch> taken = lacks_batch ? std::nullopt : feed.next_unless_stopped();
    lacks_batch = !taken;
    if (taken) {
      num_skipped += taken->skipped.size();
      sums.totals.add_batch(taken->size, taken->skipped.size());
      sums.skips.add(taken->skipped);
    }
    if (!taken || taken->size == 0) {
      strategy.forward_nothing();
      continue;
    }
    {
      const Batch batch = with_floats_as(*std::move(taken), storage_dtype(precision));
      add_batch(task, batch, {run.seed, step, batch.first_position}, run, sums);
    }
    if (number + 1 < num_batches) feed.prefetch();
    if (number % kMostQueued == kMostQueued - 1 && run.device.is_asynchronous())
      run.device.synchronize();
  }
  return looks.look(num_batches, lacks_batch, num_skipped).num_stopped == 0;
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

std::optional<EvalResult> Evaluator::run(Task& task, parallel::Strategy& strategy,
                                         Precision precision, std::int64_t step,
                                         const RunContext& run, std::string_view weights) {
  const auto begin = std::chrono::steady_clock::now();
  const at::NoGradGuard no_grad;
  const EvaluationScope scope(task);
  StepReduction sums(run.communicator, {.metrics = task.num_sums()}, run.device);
  const std::unique_ptr<EvalMeasure> measure = task.measure_evaluation(tells_classes_);
  SkipLimit skips(max_skipped_);
  Sums all{sums, measure.get(), skips};
  strategy.begin_evaluation(task.evaluates_freely());
  const bool is_complete = add_batches(task, strategy, precision, step, run, all);
  strategy.end_evaluation();
  if (!is_complete) return std::nullopt;
  sums.start({});
  sums.finish();
  sums.read();

  const Totals& totals = sums.totals();
  EvalResult result;
  result.prefix = weights.empty() ? prefix_ : fmt::format("{}_{}", prefix_, weights);
  result.samples = static_cast<std::int64_t>(totals.samples);
  result.skipped = static_cast<std::int64_t>(totals.skipped);
  result.pictures = std::move(all.pictures);
  for (metrics::Picture& picture : result.pictures)
    picture.name = result.prefix + "/" + picture.name;
  judge(result, skips, run);
  result.values[result.prefix + "/loss"] = totals.mean_loss();
  for (const Metric& metric : task.metrics()) {
    if (totals.has(metric)) result.values[result.prefix + "/" + metric.name] = totals.value(metric);
  }
  refuse_non_finite(result);
  if (measure) add_measured(measure->finish(run.communicator), result);
  if (shown_to_ != nullptr) shown_to_->finish(run.communicator);
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return result;
}

}  // namespace paceline::train
