#pragma once

#include "paceline/config/duration.h"
#include "paceline/config/schema.h"
#include "paceline/tensor/torch.h"
#include "paceline/train/algorithm.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace paceline::algorithms {

struct LayerFreezingConfig {
  double freeze_start = 0.5;
  double freeze_level = 1.0;
  std::vector<std::string> parts = {};
  std::optional<config::Duration> after = {};
};

/// Stops training the first layers, more of them as the run goes on. After each epoch at a share t
/// of the run beyond `freeze_start`, the first int(f * (n - 1)) of n layers rest, with f =
/// freeze_level * (t - freeze_start) / (1 - freeze_start): no gradients are computed for them and
/// the optimizer leaves them. The last layer is always trained.
///
/// Which rest is a function of the clock, so a resumed run goes on as if never stopped. BatchNorms
/// that rest still move their running statistics. The numbers are Composer's.
///
/// With `parts` these (nn::NetworkPart) rest instead, from the end of the first epoch at or past
/// `after` on, and nothing else.
/// Papers: Brock et al., "FreezeOut", 2017; Raghu et al., "SVCCA", 2017.
class LayerFreezing final : public train::Algorithm {
 public:
  explicit LayerFreezing(const LayerFreezingConfig& config) : config_(config) {}

  std::string_view name() const override { return "layer_freezing"; }
  train::AlgorithmTraits traits() const override {
    return {.events = {train::Event::kPrepared, train::Event::kFitStart, train::Event::kEpochEnd},
            .may_come_or_go = true,
            .scalars = {"frozen"}};
  }
  /// Throws ConfigError, at kPrepared, where nothing would be frozen before the run ends, where
  /// the strategy cannot leave out what would, and for a part that the network has not got.
  void apply(train::Event event, train::TrainState& state, const train::RunContext& run) override;
  /// How many layers, or parts, rest in the step at hand.
  std::vector<double> scalars() const override { return {static_cast<double>(num_frozen_)}; }

 private:
  std::int64_t num_frozen_after(std::int64_t epoch, const config::StepLengths& lengths) const;
  void try_all(train::TrainState& state) const;
  void freeze(std::int64_t num_frozen, train::TrainState& state) const;

  LayerFreezingConfig config_;
  /// The names of the parameters of each layer, or part: the first ones rest.
  std::vector<std::vector<std::string>> layers_;
  std::int64_t num_frozen_ = 0;
};

/// The names of the parameters of each layer, in registration order: of a module without others
/// below it, and of a convolution, whatever is below.
std::vector<std::vector<std::string>> parameters_by_layer(const torch::nn::Module& network);

std::unique_ptr<train::Algorithm> make(const LayerFreezingConfig& config);

}  // namespace paceline::algorithms

template <>
struct paceline::config::Schema<paceline::algorithms::LayerFreezingConfig> {
  using Config = paceline::algorithms::LayerFreezingConfig;
  static constexpr std::string_view name = "layer_freezing";
  static constexpr std::string_view summary = "Stops training more and more of the first layers.";
  static constexpr std::string_view paper = "Brock et al., 2017";
  static constexpr auto fields = std::tuple{
      field(&Config::freeze_start, "freeze_start", "The share of the run in which all are trained.",
            AtLeast{0}, LessThan{1}),
      field(&Config::freeze_level, "freeze_level", "The share of the layers that rest at the end.",
            MoreThan{0}, AtMost{1, "there are no more layers"}),
      field(&Config::parts, "parts",
            "Instead of layer after layer let these rest, all at once: parts as in model.freeze, "
            "such as [stem, layer1]."),
      field(&Config::after, "after",
            "Of parts: from the end of the first epoch at or past this on, such as 3ep.",
            AtLeast{0})};

  static void validate(const Config& value, Problems& problems) {
    if (value.parts.empty() == value.after.has_value())
      problems.add("after", "goes with parts: give both, or none of them");
  }
};
