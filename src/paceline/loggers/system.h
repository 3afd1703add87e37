#pragma once

#include "paceline/config/schema.h"
#include "paceline/loggers/record_file.h"
#include "paceline/loggers/sink_context.h"
#include "paceline/metrics/nvml.h"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <nlohmann/json_fwd.hpp>

namespace paceline::loggers {

struct SystemConfig {
  std::string file = "system.jsonl";
  double period_s = 5;
};

/// Where the readings come from; tests have their own.
struct SystemSources {
  std::filesystem::path proc = "/proc";
  std::string nvml = "libnvidia-ml.so.1";
};

/// Watches what the ranks on rank 0's machine use of it, on a thread of its own, and appends a line
/// for each period to a file of the run:
/// {"step":7,"wall_time":1700000000.25,"cpu_utilization":0.9,
///  "ranks":[{"rank":0,"cpu_cores":1.8,"resident_bytes":1}],"gpus":[{"rank":0,"utilization":0.97}]}
/// cpu_cores: cores kept busy over the period; cpu_utilization: their sum over the cores that the
/// ranks have; gpus: what metrics::GpuReading holds, for ranks that compute on one. The last line
/// comes when the watch ends. A resumed run goes on in the same file; nothing is cut off, as the
/// time was spent. Other machines' ranks are not in it: only rank 0 writes.
class SystemMonitor final : public metrics::MetricSink {
 public:
  SystemMonitor(const SystemConfig& config, const SinkContext& context,
                const SystemSources& sources = {});
  ~SystemMonitor() override;

  SystemMonitor(const SystemMonitor&) = delete;
  SystemMonitor& operator=(const SystemMonitor&) = delete;

  std::string_view name() const override { return "system"; }
  void log_step(const metrics::MetricStep& at,
                std::span<const metrics::MetricValue> /*values*/) override {
    step_.store(at.step, std::memory_order_relaxed);
  }
  void log_event(const metrics::MetricStep& /*at*/, std::string_view /*event*/,
                 std::span<const metrics::MetricValue> /*values*/) override {}
  void log_text(const metrics::MetricStep& /*at*/, std::string_view /*tag*/,
                std::string_view /*text*/) override {}
  void log_hparams(std::span<const std::pair<std::string, std::string>> /*hparams*/) override {}
  void resume_at(std::int64_t step) override;
  void flush() override;
  /// Ends the watch.
  std::vector<std::pair<std::string, double>> summarise() override;

 private:
  using Clock = std::chrono::steady_clock;

  void run();
  void stop();
  /// Reads everything and writes a line. Needs sample_mutex_.
  void sample();
  nlohmann::ordered_json read_ranks(double seconds);
  nlohmann::ordered_json read_gpus();
  std::unique_ptr<base::OutputFile> open();

  const SystemConfig config_;
  const SinkContext context_;
  const SystemSources sources_;
  const std::filesystem::path path_;
  std::atomic<std::int64_t> step_ = 0;

  std::mutex sample_mutex_;  ///< guards what sample() uses
  metrics::Nvml::Opened nvml_;
  RecordFile file_;
  Clock::time_point last_time_ = Clock::now();
  std::vector<std::optional<metrics::ProcessUsage>> last_usages_;  ///< of each rank

  struct Totals {
    double seconds = 0;
    double cpu_s = 0;
    std::vector<double> cpu_utilizations;  ///< of each line
    std::vector<double> gpu_utilizations;  ///< of each line and GPU
    std::uint64_t peak_resident_bytes = 0;
    std::uint64_t peak_gpu_memory_bytes = 0;
  };
  Totals totals_;

  std::mutex wake_mutex_;
  std::condition_variable wake_;
  bool is_stopping_ = false;
  std::thread thread_;
};

std::unique_ptr<metrics::MetricSink> make(const SystemConfig& config, const SinkContext& context);

}  // namespace paceline::loggers

template <>
struct paceline::config::Schema<paceline::loggers::SystemConfig> {
  using Config = loggers::SystemConfig;
  static constexpr std::string_view name = "system";
  static constexpr std::string_view summary =
      "What rank 0's machine does meanwhile: CPUs, memory and GPUs over time, as JSON lines.";
  static constexpr auto fields = std::tuple{
      field(&Config::file, "file", "Name of the file in the run's directory.", PlainName{}),
      field(&Config::period_s, "period_s", "Seconds between two lines.", MoreThan{0},
            AtMost{86400, "a day"})};
};
