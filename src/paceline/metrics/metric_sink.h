#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace paceline::metrics {

/// Where in the run a value belongs.
struct MetricStep {
  std::int64_t step = 0;     ///< optimizer steps done
  std::int64_t epoch = 0;    ///< epochs completed
  std::int64_t samples = 0;  ///< training samples seen, over all ranks
  double wall_time = 0;      ///< seconds since the Unix epoch
};

struct MetricValue {
  std::string_view name;  ///< "train/loss", "val/top1", "time/data_wait_ms"; outlives the call only
  double value = 0;
};

/// What people look at: 8-bit RGB, row by row.
struct Picture {
  std::string name;  ///< "val/slices"
  int width = 0;
  int height = 0;
  std::vector<std::uint8_t> pixels;  ///< 3 * width * height
};

/// Takes the values of a run as they appear, on rank 0. Calls come from the training thread and
/// must not block it: a sink that writes does so on another thread.
class MetricSink {
 public:
  virtual ~MetricSink() = default;
  virtual std::string_view name() const = 0;
  /// Values of one training step.
  virtual void log_step(const MetricStep& at, std::span<const MetricValue> values) = 0;
  /// Values of one evaluation or of another event outside the step.
  virtual void log_event(const MetricStep& at, std::string_view event,
                         std::span<const MetricValue> values) = 0;
  /// Free text, such as the start-up banner or a model card, under a tag.
  virtual void log_text(const MetricStep& at, std::string_view tag, std::string_view text) = 0;
  /// Of an evaluation. Sinks that show no pictures leave it out.
  virtual void log_picture(const MetricStep& /*at*/, const Picture& /*picture*/) {}
  /// The run's hyper-parameters (key, YAML value), once, at the start.
  virtual void log_hparams(std::span<const std::pair<std::string, std::string>> hparams) = 0;
  /// Called when a run resumes at `step`: what lies at later steps must go.
  virtual void resume_at(std::int64_t step) = 0;
  /// Where resume_at() removes something: whoever goes back to an earlier step may want to keep it.
  virtual std::vector<std::filesystem::path> files_to_cut() const { return {}; }
  /// Everything logged so far is on disk when this returns. A sink that cannot write says so once
  /// in the log and does not throw: its failure must not end the run. Thread-safe.
  virtual void flush() = 0;
  /// Called once, after the last value: ends what the sink measures itself, and gives what
  /// summary.json shall hold of that under the sink's name.
  virtual std::vector<std::pair<std::string, double>> summarise() { return {}; }
};

}  // namespace paceline::metrics
