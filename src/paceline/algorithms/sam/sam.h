#pragma once

#include "paceline/config/schema.h"
#include "paceline/tensor/aten.h"
#include "paceline/train/algorithm.h"

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

namespace paceline::algorithms {

/// Whose gradient says where to climb.
enum class Ascent { kRank, kGlobal };

struct SamConfig {
  double rho = 0.05;
  double epsilon = 1e-12;
  std::int64_t interval = 1;
  Ascent ascent = Ascent::kRank;
};

/// Sharpness-aware minimisation: the gradient of a step is taken where the loss is higher, at w + e
/// with e = rho * g / (|g| + epsilon), g the gradient at w and |g| the norm of all of it.
///
/// With `ascent: rank` g is each rank's own, as in Composer; with `global` it is the sum over all
/// ranks, so that N ranks equal one, and the only way where gradients are reduced as they come
/// (zero1, zero2, fsdp, hsdp). w comes back exactly. A first pass whose gradient is not finite on
/// some rank skips the step on all.
/// Paper: Foret et al., "Sharpness-aware minimization for efficiently improving generalization",
/// ICLR 2021.
class Sam final : public train::Algorithm {
 public:
  explicit Sam(const SamConfig& config) : config_(config) {}

  std::string_view name() const override { return "sam"; }
  train::AlgorithmTraits traits() const override {
    return {.events = {train::Event::kPrepared, train::Event::kGradientsReady},
            .takes_extra_passes = true,
            .may_come_or_go = true};
  }
  /// Throws ConfigError for a strategy that has no gradients of a rank's own, and for one that adds
  /// to gradients what it left out of those before (powersgd).
  void apply(train::Event event, train::TrainState& state, const train::RunContext& run) override;
  std::optional<train::PassSum> extra_pass(const train::TrainState& state) const override;
  at::Tensor after_extra_pass(train::TrainState& state) override;
  /// The weights before the climb.
  std::uint64_t copied_bytes(const train::TrainState& state,
                             const train::FieldBytes& field_bytes) const override;

 private:
  struct Kept {
    at::Tensor weights;  ///< the strategy's own
    at::Tensor values;   ///< before the climb
  };

  SamConfig config_;
  std::vector<Kept> kept_;  ///< between the passes
};

std::unique_ptr<train::Algorithm> make(const SamConfig& config);

}  // namespace paceline::algorithms

template <>
struct paceline::config::EnumNames<paceline::algorithms::Ascent> {
  static constexpr std::array names{EnumName{paceline::algorithms::Ascent::kRank, "rank"},
                                    EnumName{paceline::algorithms::Ascent::kGlobal, "global"}};
};

template <>
struct paceline::config::Schema<paceline::algorithms::SamConfig> {
  using Config = paceline::algorithms::SamConfig;
  static constexpr std::string_view name = "sam";
  static constexpr std::string_view summary =
      "Takes each step's gradient where the loss nearby is highest, by a second pass.";
  static constexpr std::string_view paper = "Foret et al., 2021";
  static constexpr auto fields = std::tuple{
      field(&Config::rho, "rho", "How far away, in the norm of all weights.", AtLeast{0},
            AtMost{1e6, "no weights are as large"}),
      field(&Config::epsilon, "epsilon", "Added to the norm that is divided by.", AtLeast{0},
            AtMost{1, "the norm itself would no longer count"}),
      field(&Config::interval, "interval", "In every so many-th step; the others are plain.",
            AtLeast{1}, AtMost{1'000'000'000, "no run has more steps"}),
      field(&Config::ascent, "ascent",
            "rank: climb by each rank's own gradient; global: by that of all, so that any number "
            "of ranks gives the same.")};
};
