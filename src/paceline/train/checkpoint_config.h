#pragma once

#include "paceline/checkpoint/listing.h"
#include "paceline/config/schema.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace paceline::train {

using checkpoint::MonitorMode;

/// The `checkpoint` section of a recipe.
struct CheckpointConfig {
  std::optional<config::Duration> every = config::Duration{1, config::TimeUnit::kEpoch};
  int keep_last = 3;
  int keep_best = 1;
  std::optional<std::string> monitor = {};
  std::optional<MonitorMode> mode = {};
  bool async = true;
  std::optional<config::Duration> check_replicas = {};
  std::optional<std::string> dir;
};

/// Whether less of a metric is better, by its name: a loss ("val/loss"), a percentile of losses
/// ("val/loss_p95"), or a calibration error ("val/ece").
bool is_less_better(std::string_view metric);

/// What is wrong with a mode for a metric, or nothing: nobody wants the largest loss.
inline std::optional<std::string> wrong_mode(const std::optional<std::string>& monitor,
                                             const std::optional<MonitorMode>& mode) {
  if (mode != MonitorMode::kMax || !monitor || !is_less_better(*monitor)) return std::nullopt;
  return "max would call the largest " + *monitor + " the best: write min";
}

}  // namespace paceline::train

template <>
struct paceline::config::EnumNames<paceline::train::MonitorMode> {
  static constexpr std::array names{EnumName{paceline::train::MonitorMode::kMax, "max"},
                                    EnumName{paceline::train::MonitorMode::kMin, "min"}};
};

template <>
struct paceline::config::Schema<paceline::train::CheckpointConfig> {
  using Config = paceline::train::CheckpointConfig;
  static constexpr std::string_view name = "checkpoint";
  static constexpr std::string_view summary =
      "When to save the run, and which checkpoints to keep.";
  static constexpr auto fields = std::tuple{
      field(&Config::every, "every",
            "How often to save; also at the end and when stopped. null: never, so that the run "
            "cannot be resumed.",
            MayChangeOnResume{}),
      field(&Config::keep_last, "keep_last", "How many of the newest checkpoints to keep.",
            AtLeast{1}, AtMost{1'000'000'000, "no run saves more often"}, MayChangeOnResume{}),
      field(&Config::keep_best, "keep_best",
            "How many of the best checkpoints, by `monitor`, to keep besides.", AtLeast{0},
            AtMost{1'000'000'000, "no run saves more often"}, MayChangeOnResume{}),
      field(
          &Config::monitor, "monitor",
          "The metric of an evaluation that says which are best; null: the task's first, which is "
          "val/top1 for classification, or val/loss where it has none.",
          NotEmpty{}, MayChangeOnResume{}),
      field(&Config::mode, "mode",
            "Whether a larger or a smaller value is better; null: a smaller one of a loss or "
            "calibration error, else a larger one.",
            MayChangeOnResume{}),
      field(&Config::async, "async",
            "Write in the background: a step waits only until its state is copied in host memory, "
            "which "
            "takes as much of it as a rank writes.",
            MayChangeOnResume{}),
      field(
          &Config::check_replicas, "check_replicas",
          "How often to compare the weights of all ranks that hold the same ones, by their hashes; "
          "null: never.",
          MayChangeOnResume{}),
      field(&Config::dir, "dir",
            "Folder of the checkpoints; null: checkpoints/ in the run directory.", Path{},
            MayChangeOnResume{})};

  static void validate(const Config& value, Problems& problems) {
    if (const auto wrong = paceline::train::wrong_mode(value.monitor, value.mode))
      problems.add("mode", *wrong);
  }
};
