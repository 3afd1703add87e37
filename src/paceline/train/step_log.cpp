#include "paceline/train/step_log.h"

#include "paceline/base/log.h"
#include "paceline/parallel/named_tensors.h"
#include "paceline/train/evaluator.h"

#include <chrono>
#include <cmath>

namespace paceline::train {
namespace {

// Normalised images have means near 0 and deviations near 1; a wrong or doubled normalisation is
// far off.
constexpr double kLargestPlausibleMean = 1.5;
constexpr double kSmallestPlausibleDeviation = 0.2;
constexpr double kLargestPlausibleDeviation = 3.0;

metrics::MetricStep step_of(const TrainState& state) {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return {state.clock.step, state.clock.epoch(), state.clock.samples,
          std::chrono::duration<double>(now).count()};
}

}  // namespace

StepLog::StepLog(std::span<metrics::MetricSink* const> sinks, std::span<const Metric> metrics,
                 const tensor::Device& device, std::vector<std::string> scalar_names)
    : sinks_(sinks), device_(device), metrics_(metrics), scalar_names_(std::move(scalar_names)) {
  for (const Metric& metric : metrics) metric_names_.push_back("train/" + metric.name);
}

void StepLog::describe_input(const TrainState& state) {
  const at::Tensor* const found = state.batch.fields.find(kImages);
  if (sinks_.empty() || state.batch.size == 0 || found == nullptr) return;
  const at::Tensor images = found->to(at::kDouble);
  const at::Tensor means = images.mean({0, 2, 3});
  const at::Tensor deviations = images.std({0, 2, 3}, /*unbiased=*/false);
  std::string text = "first batch:";
  bool is_plausible = true;
  for (std::int64_t channel = 0; channel < means.numel(); ++channel) {
    const double mean = means[channel].item<double>();
    const double deviation = deviations[channel].item<double>();
    is_plausible = is_plausible && std::abs(mean) <= kLargestPlausibleMean &&
                   deviation >= kSmallestPlausibleDeviation &&
                   deviation <= kLargestPlausibleDeviation;
    text += fmt::format("{} channel {} mean {:.3f} deviation {:.3f}", channel == 0 ? "" : ",",
                        channel, mean, deviation);
  }
  for (metrics::MetricSink* sink : sinks_) sink->log_text(step_of(state), "input", text);
  if (!is_plausible) {
    base::log_warning(
        "these are not the values of normalised images (mean near 0, deviation near 1): check "
        "data.train_transforms, above all normalize");
  }
}

void StepLog::describe_communication(const TrainState& state) {
  const parallel::CommunicationReport report = state.strategy->communication_report();
  if (sinks_.empty() || report.buckets.empty()) return;
  metrics::MetricStep at = step_of(state);
  ++at.step;  // which the clock does not count yet: a resume at the clock's step tells it again
  std::string text = fmt::format("step {}, backward {:.1f} ms:", at.step, 1e3 * report.backward_s);
  for (const parallel::BucketReport& bucket : report.buckets) {
    text += fmt::format(" {:.2f} MiB from {:.1f} ms ({}), {:.1f} ms exposed;",
                        static_cast<double>(bucket.bytes) / (1 << 20), 1e3 * bucket.start_s,
                        bucket.filled_by.empty() ? "no gradient" : bucket.filled_by,
                        1e3 * bucket.exposed_s);
  }
  text.pop_back();
  if (!report.late_parameters.empty()) {
    text += fmt::format(
        ". Full buckets of gradients waited for {}: put the names of what comes first into "
        "parallel.ddp.bucket_order",
        parallel::list_names(report.late_parameters));
  }
  for (metrics::MetricSink* sink : sinks_) sink->log_text(at, "communication", text);
}

void StepLog::log_step(const TrainState& state, double now_s,
                       std::span<const metrics::MetricValue> more) {
  throughput_.add_step(now_s, static_cast<std::int64_t>(state.step_totals.samples));
  if (sinks_.empty()) return;
  const auto milliseconds = [&](metrics::Phase phase) { return 1e3 * state.phases.seconds(phase); };
  values_.clear();
  values_.push_back({"train/loss", state.step_totals.mean_loss()});
  for (std::size_t i = 0; i < metrics_.size(); ++i) {
    if (state.step_totals.has(metrics_[i]))
      values_.push_back({metric_names_[i], state.step_totals.value(metrics_[i])});
  }
  for (std::size_t i = 0; i < scalar_names_.size(); ++i)
    values_.push_back({scalar_names_[i], state.step_totals.scalars[i]});
  values_.insert(values_.end(), more.begin(), more.end());
  values_.push_back({"train/lr", state.lr});
  if (state.momentum) values_.push_back({"train/momentum", *state.momentum});
  values_.push_back({"data/skipped", static_cast<double>(state.skipped.of_run)});
  if (!std::isnan(state.grad_norm)) values_.push_back({"train/grad_norm", state.grad_norm});
  if (state.scaler) {
    values_.push_back({"train/loss_scale", state.scaler->scale()});
    values_.push_back({"train/skipped_steps", static_cast<double>(state.scaler->num_skipped())});
  }
  if (throughput_.steps_per_s() > 0) {  // not yet after the first step
    const bool are_images = state.batch.fields.find(kImages) != nullptr;
    values_.push_back({are_images ? "throughput/images_per_s" : "throughput/samples_per_s",
                       throughput_.samples_per_s()});
    values_.push_back({"throughput/batches_per_s", throughput_.steps_per_s()});
  }
  values_.push_back({"time/data_wait_ms", milliseconds(metrics::Phase::kDataWait)});
  values_.push_back({"time/forward_ms", milliseconds(metrics::Phase::kForward)});
  values_.push_back({"time/backward_ms", milliseconds(metrics::Phase::kBackward)});
  values_.push_back(
      {"time/exposed_communication_ms", milliseconds(metrics::Phase::kExposedCommunication)});
  values_.push_back({"time/optimizer_ms", milliseconds(metrics::Phase::kOptimizer)});
  if (device_.is_asynchronous()) add_memory();
  for (metrics::MetricSink* sink : sinks_) sink->log_step(step_of(state), values_);
}

void StepLog::add_memory() {
  const tensor::DeviceMemory memory = device_.memory();
  values_.push_back({"memory/allocated_bytes", static_cast<double>(memory.allocated_bytes)});
  values_.push_back(
      {"memory/peak_allocated_bytes", static_cast<double>(memory.peak_allocated_bytes)});
  values_.push_back({"memory/reserved_bytes", static_cast<double>(memory.reserved_bytes)});
}

void StepLog::log_evaluation(const TrainState& state, const EvalResult& result,
                             double data_wait_share, std::span<const metrics::MetricValue> more) {
  throughput_.exclude(result.seconds);
  if (sinks_.empty()) return;
  std::vector<metrics::MetricValue> values;
  for (const auto& [name, value] : result.values) values.push_back({name, value});
  values.insert(values.end(), more.begin(), more.end());
  const std::string samples_name = result.prefix + "/samples";
  const std::string skipped_name = result.prefix + "/skipped";
  values.push_back({samples_name, static_cast<double>(result.samples)});
  values.push_back({skipped_name, static_cast<double>(result.skipped)});
  values.push_back({"time/eval_s", result.seconds});
  values.push_back({"time/data_wait_share", data_wait_share});
  const metrics::MetricStep at = step_of(state);
  for (metrics::MetricSink* sink : sinks_) {
    sink->log_event(at, "eval", values);
    for (const metrics::Picture& picture : result.pictures) sink->log_picture(at, picture);
  }
}

}  // namespace paceline::train
