#include "paceline/loggers/system.h"

#include "paceline/base/file_status.h"
#include "paceline/base/log.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include <nlohmann/json.hpp>

namespace paceline::loggers {
namespace {

using Json = nlohmann::ordered_json;

// The kernel counts a process's time in hundredths of a second: less than this is noise.
constexpr std::chrono::milliseconds kShortestPeriod{100};

double rounded(double value) { return std::round(value * 1e4) / 1e4; }

template <typename T>
void put(Json& object, const char* name, const std::optional<T>& value) {
  if (value) object[name] = *value;
}

Json to_json(int rank, const metrics::GpuReading& reading) {
  Json gpu{{"rank", rank}};
  put(gpu, "utilization", reading.utilization);
  put(gpu, "memory_used_bytes", reading.memory_used_bytes);
  put(gpu, "memory_total_bytes", reading.memory_total_bytes);
  put(gpu, "power_w", reading.power_w);
  put(gpu, "sm_clock_mhz", reading.sm_clock_mhz);
  put(gpu, "memory_clock_mhz", reading.memory_clock_mhz);
  put(gpu, "temperature_c", reading.temperature_c);
  gpu["throttle_reasons"] = reading.throttle_reasons;
  return gpu;
}

/// The smallest of the values that at least 95 % of them do not exceed.
double percentile_95(std::vector<double> values) {
  std::ranges::sort(values);
  const auto rank = static_cast<std::size_t>(std::ceil(0.95 * static_cast<double>(values.size())));
  return values[rank - 1];
}

double mean(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

}  // namespace

std::unique_ptr<metrics::MetricSink> make(const SystemConfig& config, const SinkContext& context) {
  return std::make_unique<SystemMonitor>(config, context);
}

SystemMonitor::SystemMonitor(const SystemConfig& config, const SinkContext& context,
                             const SystemSources& sources)
    : config_(config),
      context_(context),
      sources_(sources),
      path_(context.run_directory / config.file),
      file_("system", [this] { return open(); }) {
  bool has_gpu = false;
  for (const metrics::LocalRank& rank : context_.local_ranks) {
    last_usages_.push_back(metrics::read_process_usage(rank.process, sources_.proc));
    has_gpu = has_gpu || !rank.gpu.empty();
  }
  if (has_gpu) {
    nvml_ = metrics::Nvml::open(sources_.nvml);
    if (!nvml_.nvml)
      base::log_warning("{} tells nothing of the GPUs: {}", config_.file, nvml_.reason);
  }
  thread_ = std::thread([this] { run(); });
}

SystemMonitor::~SystemMonitor() {
  stop();
  file_.sync();
}

void SystemMonitor::resume_at(std::int64_t step) {
  step_.store(std::max<std::int64_t>(0, step), std::memory_order_relaxed);
}

void SystemMonitor::flush() {
  const std::lock_guard lock(sample_mutex_);
  file_.sync();
}

std::vector<std::pair<std::string, double>> SystemMonitor::summarise() {
  stop();
  flush();
  std::vector<std::pair<std::string, double>> values = file_.failures();
  if (totals_.cpu_utilizations.empty()) return values;
  values.emplace_back("cpu_utilization_mean",
                      rounded(totals_.cpu_s / totals_.seconds / context_.local_cores));
  values.emplace_back("cpu_utilization_p95", percentile_95(totals_.cpu_utilizations));
  values.emplace_back("peak_resident_bytes", totals_.peak_resident_bytes);
  if (totals_.gpu_utilizations.empty()) return values;
  values.emplace_back("gpu_utilization_mean", rounded(mean(totals_.gpu_utilizations)));
  values.emplace_back("gpu_utilization_p95", percentile_95(totals_.gpu_utilizations));
  values.emplace_back("peak_gpu_memory_bytes", totals_.peak_gpu_memory_bytes);
  return values;
}

void SystemMonitor::run() {
  const std::chrono::duration<double> period(config_.period_s);
  std::unique_lock wake_lock(wake_mutex_);
  while (!wake_.wait_for(wake_lock, period, [this] { return is_stopping_; })) {
    wake_lock.unlock();
    {
      const std::lock_guard lock(sample_mutex_);
      sample();
    }
    wake_lock.lock();
  }
}

void SystemMonitor::stop() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(wake_mutex_);
    is_stopping_ = true;
  }
  wake_.notify_one();
  thread_.join();
  const std::lock_guard lock(sample_mutex_);
  const bool is_first = totals_.cpu_utilizations.empty();
  if (is_first || Clock::now() - last_time_ >= kShortestPeriod) sample();
}

void SystemMonitor::sample() {
  const Clock::time_point now = Clock::now();
  const double seconds = std::max(1e-3, std::chrono::duration<double>(now - last_time_).count());
  last_time_ = now;
  const std::chrono::duration<double> wall_time =
      std::chrono::system_clock::now().time_since_epoch();
  const double cpu_s_before = totals_.cpu_s;
  Json ranks = read_ranks(seconds);
  const double utilization =
      rounded((totals_.cpu_s - cpu_s_before) / seconds / context_.local_cores);
  totals_.seconds += seconds;
  totals_.cpu_utilizations.push_back(utilization);
  const Json line{{"step", step_.load(std::memory_order_relaxed)},
                  {"wall_time", wall_time.count()},
                  {"cpu_utilization", utilization},
                  {"ranks", std::move(ranks)},
                  {"gpus", read_gpus()}};
  file_.add(line.dump() + "\n");
  file_.write_out();
}

Json SystemMonitor::read_ranks(double seconds) {
  Json ranks = Json::array();
  for (std::size_t i = 0; i < context_.local_ranks.size(); ++i) {
    const metrics::LocalRank& rank = context_.local_ranks[i];
    const auto usage = metrics::read_process_usage(rank.process, sources_.proc);
    if (usage && last_usages_[i]) {
      const double cpu_s = usage->cpu_s - last_usages_[i]->cpu_s;
      totals_.cpu_s += cpu_s;
      totals_.peak_resident_bytes =
          std::max(totals_.peak_resident_bytes, usage->peak_resident_bytes);
      ranks.push_back({{"rank", rank.rank},
                       {"cpu_cores", rounded(cpu_s / seconds)},
                       {"resident_bytes", usage->resident_bytes}});
    }
    last_usages_[i] = usage;
  }
  return ranks;
}

Json SystemMonitor::read_gpus() {
  Json gpus = Json::array();
  if (!nvml_.nvml) return gpus;
  for (const metrics::LocalRank& rank : context_.local_ranks) {
    const auto reading = nvml_.nvml->read(rank.gpu);
    if (!reading) continue;
    if (reading->utilization) totals_.gpu_utilizations.push_back(*reading->utilization);
    totals_.peak_gpu_memory_bytes =
        std::max(totals_.peak_gpu_memory_bytes, reading->memory_used_bytes.value_or(0));
    gpus.push_back(to_json(rank.rank, *reading));
  }
  return gpus;
}

std::unique_ptr<base::OutputFile> SystemMonitor::open() {
  if (base::file_exists(path_)) {  // a stop by force may have left half a line
    const std::string text = base::read_file(path_);
    const std::size_t whole = text.rfind('\n') + 1;
    if (whole != text.size()) {
      base::write_file_atomically(*context_.files, path_, text.substr(0, whole));
    }
  }
  auto file = context_.files->append(path_);
  context_.files->sync_directory(path_.parent_path());
  return file;
}

}  // namespace paceline::loggers
