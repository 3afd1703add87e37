#include "paceline/train/monitor.h"

namespace paceline::train {

Monitor monitor_of(const std::optional<std::string>& name, const std::optional<MonitorMode>& mode,
                   std::span<const Metric> metrics) {
  Monitor monitor;
  monitor.metric = name ? *name : "val/" + (metrics.empty() ? "loss" : metrics.front().name);
  monitor.mode =
      mode.value_or(monitor.metric.ends_with("/loss") ? MonitorMode::kMin : MonitorMode::kMax);
  return monitor;
}

void set_monitor(CheckpointConfig& config, std::span<const Metric> metrics) {
  Monitor monitor = monitor_of(config.monitor, config.mode, metrics);
  config.monitor = std::move(monitor.metric);
  config.mode = monitor.mode;
}

}  // namespace paceline::train
