#pragma once

#include "paceline/algorithms/microbatch/sample_group.h"
#include "paceline/config/duration.h"
#include "paceline/config/schema.h"
#include "paceline/nn/dropout.h"
#include "paceline/train/algorithm.h"

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace paceline::algorithms {

/// What a draw leaves out of a residual block.
enum class DropMethod {
  kBlock,   ///< the branch, for all samples of a microbatch or group
  kSample,  ///< the branch, for one sample
};

/// The rates of a network's blocks.
enum class DropDistribution {
  kLinear,   ///< drop_rate * (i + 1) / n for block i of n
  kUniform,  ///< drop_rate for all
};

/// What makes up for the branches that training lacks.
enum class DropRescale {
  kComposer,  ///< evaluations multiply branches by 1 - rate
  kTimm,      ///< training divides those that it keeps by 1 - rate
};

struct StochasticDepthConfig {
  double drop_rate = 0.2;
  DropMethod method = DropMethod::kBlock;
  DropDistribution distribution = DropDistribution::kLinear;
  config::Duration warmup{0, config::TimeUnit::kFraction};
  DropRescale rescale = DropRescale::kComposer;
  std::optional<std::int64_t> group = {};
};

/// A residual block of a network, by the name of the module that drops its branches.
struct ResidualBranches {
  std::string block;
  std::vector<nn::DropPath*> drop_paths;  ///< owned by the network
};

/// Leaves residual branches out of training at random: every block that has an nn::DropPath drops
/// by its rate. Draws are keyed by step, layer and the position of the first sample, so N ranks by
/// A microbatches drop as one rank by N * A.
///
/// A block of convolutions whose branch a microbatch drops is not computed: its BatchNorms keep
/// their statistics, and its parameters get gradients of zero. Those of ViTs and ConvNeXts, which
/// have none, are multiplied by zero; a ViT's block has two branches, each with a draw of its own.
/// The rate grows linearly over `warmup`, as a function of the clock; an evaluation of a checkpoint
/// of meanwhile is by the full rate. With `rescale: composer` evaluations compute another network,
/// which is recorded with the weights; with `timm` they do not, and a run may be resumed with it or
/// without. Paper: Huang et al., "Deep networks with stochastic depth", ECCV 2016. Numbers are
/// Composer's.
class StochasticDepth final : public train::Algorithm {
 public:
  explicit StochasticDepth(const StochasticDepthConfig& config) : config_(config) {}

  std::string_view name() const override { return "stochastic_depth"; }
  train::AlgorithmTraits traits() const override;
  /// Throws ConfigError, at kInit, for a network without residual branches, or whose branches are
  /// dropped by a setting of the model already.
  void apply(train::Event event, train::TrainState& state, const train::RunContext& run) override;
  train::LayerNames changed_layers() const override { return layers_; }
  /// The rate of the last block in the step at hand.
  std::vector<double> scalars() const override { return {rate_}; }

 private:
  void change(const torch::nn::Module& network, bool is_main_rank);
  void set_rate(double rate);

  StochasticDepthConfig config_;
  double rate_ = 0.0;
  std::vector<ResidualBranches> blocks_;
  train::LayerNames layers_;
};

/// Those of a network, in registration order.
std::vector<ResidualBranches> residual_blocks(const torch::nn::Module& network);

/// Has them drop as `config` says, with `rate` in place of its drop_rate.
void set_drop_rules(std::span<const ResidualBranches> blocks, const StochasticDepthConfig& config,
                    double rate);

std::unique_ptr<train::Algorithm> make(const StochasticDepthConfig& config);

}  // namespace paceline::algorithms

template <>
struct paceline::config::EnumNames<paceline::algorithms::DropMethod> {
  using Method = paceline::algorithms::DropMethod;
  static constexpr std::array names{EnumName{Method::kBlock, "block"},
                                    EnumName{Method::kSample, "sample"}};
};

template <>
struct paceline::config::EnumNames<paceline::algorithms::DropDistribution> {
  using Distribution = paceline::algorithms::DropDistribution;
  static constexpr std::array names{EnumName{Distribution::kLinear, "linear"},
                                    EnumName{Distribution::kUniform, "uniform"}};
};

template <>
struct paceline::config::EnumNames<paceline::algorithms::DropRescale> {
  using Rescale = paceline::algorithms::DropRescale;
  static constexpr std::array names{EnumName{Rescale::kComposer, "composer"},
                                    EnumName{Rescale::kTimm, "timm"}};
};

template <>
struct paceline::config::Schema<paceline::algorithms::StochasticDepthConfig> {
  using Config = paceline::algorithms::StochasticDepthConfig;
  static constexpr std::string_view name = "stochastic_depth";
  static constexpr std::string_view summary = "Leaves residual branches out of training at random.";
  static constexpr std::string_view paper = "Huang et al., 2016";
  static constexpr auto fields = std::tuple{
      field(&Config::drop_rate, "drop_rate", "The probability that the last block is left out.",
            MoreThan{0}, AtMost{1, "a probability"}),
      field(
          &Config::method, "method",
          "Whether a draw leaves a block out for all samples of a microbatch, or for one sample."),
      field(&Config::distribution, "distribution",
            "Rates that grow from block to block up to drop_rate, or the same for all."),
      field(&Config::warmup, "warmup",
            "Rates grow from 0 over so much of the run: 0.1dur, 5ep, 1000ba. paceline eval of a "
            "checkpoint of meanwhile scales by the full rate."),
      field(&Config::rescale, "rescale",
            "Who makes up for what was left out: evaluations (composer), or training (timm)."),
      algorithms::group_field<Config>()};

  static void validate(const Config& value, Problems& problems) {
    if (value.group && value.method == algorithms::DropMethod::kSample)
      problems.add("group", "means nothing with method: sample, which draws for each sample");
    if (value.warmup.unit == TimeUnit::kSecond)
      problems.add("warmup", "is counted in dur, ep, ba or sp, not in wall-clock time");
  }
};
