#pragma once

#include "paceline/train/checkpoint_config.h"
#include "paceline/train/task.h"

#include <optional>
#include <span>
#include <string>

namespace paceline::train {

/// The metric of the evaluation that a run looks at.
struct Monitor {
  std::string metric;  ///< "val/top1"
  MonitorMode mode = MonitorMode::kMax;
  friend bool operator==(const Monitor&, const Monitor&) = default;
};

/// What `monitor` and `mode` of a recipe mean for a task that measures `metrics`. Without a name it
/// is the first of them, or the loss where there is none; without a mode it is as
/// is_less_better() says.
Monitor monitor_of(const std::optional<std::string>& name, const std::optional<MonitorMode>& mode,
                   std::span<const Metric> metrics);

/// Writes into the section what it means.
void set_monitor(CheckpointConfig& config, std::span<const Metric> metrics);

}  // namespace paceline::train
