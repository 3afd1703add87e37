#pragma once

#include "paceline/config/schema.h"
#include "paceline/train/algorithm.h"

#include <cstdint>
#include <memory>
#include <string_view>
#include <tuple>

namespace paceline::callbacks {

struct NewPartConfig {
  std::int64_t after = 1'000'000;
};

/// Watches evaluations, and ends the run after so many: say here what it looks at.
class NewPart final : public train::Callback {
 public:
  explicit NewPart(const NewPartConfig& config) : config_(config) {}

  std::string_view name() const override { return "new_part"; }
  train::CallbackTraits traits() const override { return {.events = {train::Event::kEvaluated}}; }
  std::optional<std::string> on_event(train::Event event, const train::TrainState& state,
                                      const train::RunContext& run) override;
  nlohmann::json state_dict() const override;
  void load_state_dict(const nlohmann::json& state) override;

 private:
  NewPartConfig config_;
  std::int64_t num_evaluations_ = 0;
};

std::unique_ptr<train::Callback> make(const NewPartConfig& config);

}  // namespace paceline::callbacks

template <>
struct paceline::config::Schema<paceline::callbacks::NewPartConfig> {
  using Config = callbacks::NewPartConfig;
  static constexpr std::string_view name = "new_part";
  static constexpr std::string_view summary = "Says in one sentence what it watches.";
  static constexpr auto fields =
      std::tuple{field(&Config::after, "after", "Evaluations until the run ends.", AtLeast{1},
                       AtMost{1'000'000'000, "no run has more evaluations"})};
};
