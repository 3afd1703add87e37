#pragma once

#include "paceline/metrics/meters.h"
#include "paceline/metrics/metric_sink.h"
#include "paceline/tensor/device.h"
#include "paceline/train/train_state.h"

#include <span>
#include <string>
#include <vector>

namespace paceline::train {

struct EvalResult;  // train/evaluator.h

/// Hands the values of steps and evaluations to the sinks of rank 0.
class StepLog {
 public:
  /// `metrics` are those of the step's sums; "train/" is put before their names; `scalar_names`
  /// those of its scalars. Metrics and `device` must outlive the log.
  StepLog(std::span<metrics::MetricSink* const> sinks, std::span<const Metric> metrics,
          const tensor::Device& device = tensor::cpu_device(),
          std::vector<std::string> scalar_names = {});

  /// Logs the mean and deviation of each channel of the first batch's images, and warns when they
  /// are not those of normalised ones.
  void describe_input(const TrainState& state);
  /// Tells how the sums of the step's gradients went, which gradients hold them up, and what mends
  /// it.
  void describe_communication(const TrainState& state);
  /// `now_s` comes from a steady clock; `more` are values of others for the row.
  void log_step(const TrainState& state, double now_s,
                std::span<const metrics::MetricValue> more = {});
  /// `data_wait_share` is that of the steps since the last evaluation; `more` as above.
  void log_evaluation(const TrainState& state, const EvalResult& result, double data_wait_share,
                      std::span<const metrics::MetricValue> more = {});

 private:
  void add_memory();

  std::span<metrics::MetricSink* const> sinks_;
  const tensor::Device& device_;
  std::span<const Metric> metrics_;
  std::vector<std::string> metric_names_;  ///< as they are logged
  std::vector<std::string> scalar_names_;
  std::vector<metrics::MetricValue> values_;  ///< of the step at hand; kept for its memory
  metrics::ThroughputMeter throughput_;
};

}  // namespace paceline::train
