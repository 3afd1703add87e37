#pragma once

#include "paceline/config/schema.h"
#include "paceline/train/algorithm.h"

#include <cstdint>
#include <memory>
#include <string_view>
#include <tuple>

namespace paceline::algorithms {

struct NewPartConfig {
  std::int64_t every = 1;
};

/// Changes the run every so many steps: say here how, and name the paper.
class NewPart final : public train::Algorithm {
 public:
  explicit NewPart(const NewPartConfig& config) : config_(config) {}

  std::string_view name() const override { return "new_part"; }
  train::AlgorithmTraits traits() const override;
  void apply(train::Event event, train::TrainState& state, const train::RunContext& run) override;
  nlohmann::json state_dict() const override;
  void load_state_dict(const nlohmann::json& state) override;

  std::int64_t times_applied() const { return times_applied_; }

 private:
  NewPartConfig config_;
  std::int64_t times_applied_ = 0;
};

std::unique_ptr<train::Algorithm> make(const NewPartConfig& config);

}  // namespace paceline::algorithms

template <>
struct paceline::config::Schema<paceline::algorithms::NewPartConfig> {
  using Config = algorithms::NewPartConfig;
  static constexpr std::string_view name = "new_part";
  static constexpr std::string_view summary = "Says in one sentence what it does to the run.";
  static constexpr auto fields =
      std::tuple{field(&Config::every, "every", "Steps from one change to the next.", AtLeast{1},
                       AtMost{1'000'000'000, "no run has more steps"})};
};
