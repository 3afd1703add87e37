#pragma once

#include "paceline/config/schema.h"
#include "paceline/train/algorithm.h"
#include "paceline/train/monitor.h"

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

namespace paceline::algorithms {

/// Whether PlateauConfig::threshold is a share of the best value or a difference.
enum class ThresholdKind { kRelative, kAbsolute };

struct PlateauConfig {
  std::string monitor = "val/loss";
  std::optional<train::MonitorMode> mode = {};
  double factor = 0.1;
  std::int64_t patience = 10;
  double threshold = 1e-4;
  ThresholdKind threshold_kind = ThresholdKind::kRelative;
  std::int64_t cooldown = 0;
  double min_factor = 0.0;
};

/// Lowers the learning rate that the schedule gives whenever a metric has not improved for more
/// than `patience` evaluations: torch's ReduceLROnPlateau, which counts in the same way, on top of
/// any schedule. Evaluations are the same on every rank, so every rank lowers it at once.
class Plateau final : public train::Algorithm {
 public:
  explicit Plateau(const PlateauConfig& config);

  std::string_view name() const override { return "plateau"; }
  train::AlgorithmTraits traits() const override;
  std::map<std::string, std::string> metrics_in_use() const override {
    return {{"monitor", config_.monitor}};
  }
  void apply(train::Event event, train::TrainState& state, const train::RunContext& run) override;
  /// What it multiplies the learning rate by.
  std::vector<double> scalars() const override { return {factor_}; }
  nlohmann::json state_dict() const override;
  void load_state_dict(const nlohmann::json& state) override;

 private:
  void look_at(double value);
  bool is_better(double value) const;

  PlateauConfig config_;
  train::MonitorMode mode_;
  std::optional<double> best_;
  std::int64_t evaluations_since_best_ = 0;
  std::int64_t cooldown_left_ = 0;  ///< evaluations that do not count against patience
  double factor_ = 1;
};

std::unique_ptr<train::Algorithm> make(const PlateauConfig& config);

}  // namespace paceline::algorithms

template <>
struct paceline::config::EnumNames<paceline::algorithms::ThresholdKind> {
  using Kind = paceline::algorithms::ThresholdKind;
  static constexpr std::array names{EnumName{Kind::kRelative, "rel"},
                                    EnumName{Kind::kAbsolute, "abs"}};
};

template <>
struct paceline::config::Schema<paceline::algorithms::PlateauConfig> {
  using Config = paceline::algorithms::PlateauConfig;
  static constexpr std::string_view name = "plateau";
  static constexpr std::string_view summary =
      "Lowers the learning rate when a metric stops improving, on top of any schedule.";
  static constexpr std::string_view paper = "";
  static constexpr auto fields = std::tuple{
      field(&Config::monitor, "monitor", "The metric of an evaluation to watch.", NotEmpty{}),
      field(&Config::mode, "mode",
            "Whether a larger or a smaller value is better; null: a smaller one of a loss, else a "
            "larger one."),
      field(&Config::factor, "factor", "What the learning rate is multiplied by each time.",
            AtLeast{0.0}, LessThan{1.0}, MayChangeOnResume{}),
      field(&Config::patience, "patience",
            "Evaluations without improvement that are borne; the next one lowers the rate.",
            AtLeast{0}, AtMost{1'000'000'000, "no run has more evaluations"}, MayChangeOnResume{}),
      field(&Config::threshold, "threshold", "A smaller change is no improvement.", AtLeast{0},
            AtMost{1e12, "no metric is as large"}, MayChangeOnResume{}),
      field(&Config::threshold_kind, "threshold_kind",
            "Whether threshold is a share of the best value (rel) or a difference (abs).",
            MayChangeOnResume{}),
      field(&Config::cooldown, "cooldown",
            "Evaluations after each time in which patience does not run out.", AtLeast{0},
            AtMost{1'000'000'000, "no run has more evaluations"}, MayChangeOnResume{}),
      field(&Config::min_factor, "min_factor",
            "The learning rate is never multiplied by less than this in all.", InRange{0.0, 1.0},
            MayChangeOnResume{})};

  static void validate(const Config& value, Problems& problems) {
    if (const auto wrong = train::wrong_mode(value.monitor, value.mode))
      problems.add("mode", *wrong);
  }
};
