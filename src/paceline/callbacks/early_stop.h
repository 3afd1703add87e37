#pragma once

#include "paceline/config/schema.h"
#include "paceline/train/algorithm.h"
#include "paceline/train/monitor.h"

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace paceline::callbacks {

struct EarlyStopConfig {
  std::optional<std::string> monitor = {};
  std::optional<train::MonitorMode> mode = {};
  std::int64_t patience = 5;
  double min_delta = 0.0;
};

/// Asks for the end of training when a metric has not improved for `patience` evaluations.
class EarlyStop final : public train::Callback {
 public:
  explicit EarlyStop(const EarlyStopConfig& config) : config_(config) {}

  std::string_view name() const override { return "early_stop"; }
  /// At the start of a resumed run too, which else would go on to its next evaluation.
  train::CallbackTraits traits() const override {
    return {.events = {train::Event::kFitStart, train::Event::kEvaluated},
            .eval_scalars = {"best", "evaluations_since_best"}};
  }
  std::map<std::string, std::string> metrics_in_use() const override {
    return {{"monitor", config_.monitor.value_or("")}};
  }
  /// Throws ConfigError when the evaluation has no such metric.
  std::optional<std::string> on_event(train::Event event, const train::TrainState& state,
                                      const train::RunContext& run) override;
  std::vector<double> scalars(train::Event event) const override;
  nlohmann::json state_dict() const override;
  void load_state_dict(const nlohmann::json& state) override;

 private:
  /// Begins anew if what was counted so far is of another metric.
  void look_at(const train::Monitor& monitor);
  void count(const std::map<std::string, double>& evaluation);

  EarlyStopConfig config_;
  std::optional<train::Monitor> monitor_;  ///< of which best_ is; none: of the one looked at
  std::optional<double> best_;
  std::int64_t evaluations_since_best_ = 0;
};

std::unique_ptr<train::Callback> make(const EarlyStopConfig& config);

}  // namespace paceline::callbacks

template <>
struct paceline::config::Schema<paceline::callbacks::EarlyStopConfig> {
  using Config = paceline::callbacks::EarlyStopConfig;
  static constexpr std::string_view name = "early_stop";
  static constexpr std::string_view summary = "Ends the run when a metric stops improving.";
  static constexpr auto fields = std::tuple{
      field(
          &Config::monitor, "monitor",
          "The metric of an evaluation to watch; null: the task's first, or val/loss where it has "
          "none.",
          NotEmpty{}),
      field(&Config::mode, "mode",
            "Whether a larger or a smaller value is better; null: a smaller one of a loss or "
            "calibration error, else a larger one."),
      field(&Config::patience, "patience", "Evaluations without improvement before the end.",
            AtLeast{1}, AtMost{1'000'000'000, "no run has more evaluations"}),
      field(&Config::min_delta, "min_delta", "A smaller change is no improvement.", AtLeast{0},
            AtMost{1e12, "no metric is as large"})};

  static void validate(const Config& value, Problems& problems) {
    if (const auto wrong = train::wrong_mode(value.monitor, value.mode))
      problems.add("mode", *wrong);
  }
};
