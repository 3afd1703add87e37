#include "paceline/train/monitor.h"

#include <cctype>

namespace paceline::train {

bool is_less_better(std::string_view metric) {
  constexpr std::string_view kPercentile = "loss_p";
  const std::string_view name = metric.substr(metric.rfind('/') + 1);
  const bool is_percentile = name.starts_with(kPercentile) && name.size() > kPercentile.size() &&
                             std::isdigit(static_cast<unsigned char>(name[kPercentile.size()]));
  return name == "loss" || name == "ece" || is_percentile;
}

Monitor monitor_of(const std::optional<std::string>& name, const std::optional<MonitorMode>& mode,
                   std::span<const Metric> metrics) {
  Monitor monitor;
  monitor.metric = name ? *name : "val/" + (metrics.empty() ? "loss" : metrics.front().name);
  monitor.mode =
      mode.value_or(is_less_better(monitor.metric) ? MonitorMode::kMin : MonitorMode::kMax);
  return monitor;
}

void set_monitor(CheckpointConfig& config, std::span<const Metric> metrics) {
  Monitor monitor = monitor_of(config.monitor, config.mode, metrics);
  config.monitor = std::move(monitor.metric);
  config.mode = monitor.mode;
}

}  // namespace paceline::train
