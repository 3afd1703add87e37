#include "paceline/algorithms/stochastic_depth/stochastic_depth.h"

#include "paceline/base/error.h"
#include "paceline/base/log.h"
#include "paceline/nn/batch_norm.h"
#include "paceline/train/run_context.h"
#include "paceline/train/train_state.h"

#include <algorithm>

namespace paceline::algorithms {
namespace {

/// In steps, not rounded.
double length_of(const config::Duration& duration, const config::StepLengths& lengths) {
  const auto rounded = static_cast<double>(to_steps(duration, lengths));
  return duration.unit == config::TimeUnit::kFraction
             ? duration.value * static_cast<double>(lengths.total_steps)
             : rounded;
}

}  // namespace

std::vector<ResidualBranches> residual_blocks(const torch::nn::Module& network) {
  std::vector<ResidualBranches> blocks;
  for (const auto& item : network.named_modules(/*name_prefix=*/{}, /*include_self=*/false)) {
    auto* const drop_path = dynamic_cast<nn::DropPath*>(item.value().get());
    if (drop_path == nullptr) continue;
    const std::size_t end = item.key().rfind('.');
    const std::string block = end == std::string::npos ? "" : item.key().substr(0, end);
    if (blocks.empty() || blocks.back().block != block) blocks.push_back({block, {}});
    blocks.back().drop_paths.push_back(drop_path);
  }
  return blocks;
}

void set_drop_rules(std::span<const ResidualBranches> blocks, const StochasticDepthConfig& config,
                    double rate) {
  const auto num_blocks = static_cast<double>(blocks.size());
  nn::DropPathRule rule{.scales_in_evaluation = config.rescale == DropRescale::kComposer};
  rule.group = config.method == DropMethod::kSample ? 1 : config.group.value_or(0);
  double number = 0;
  for (const ResidualBranches& branches : blocks) {
    ++number;
    rule.rate =
        config.distribution == DropDistribution::kLinear ? rate * (number / num_blocks) : rate;
    for (nn::DropPath* const drop_path : branches.drop_paths) drop_path->set_rule(rule);
  }
}

train::AlgorithmTraits StochasticDepth::traits() const {
  // Before what gives BatchNorms a training kernel: only those of parallel.sync_batch_norm are
  // there then.
  constexpr int kBeforeOthers = -1;
  const bool changes_network = config_.rescale == DropRescale::kComposer;
  return {.events = {train::Event::kInit, train::Event::kFitStart, train::Event::kStepStart},
          .order = kBeforeOthers,
          .changes_network = changes_network,
          .may_come_or_go = !changes_network,
          .scalars = {"drop_rate"}};
}

void StochasticDepth::apply(train::Event event, train::TrainState& state,
                            const train::RunContext& run) {
  if (event == train::Event::kInit) {
    change(state.task->network(), run.is_main_rank());
  } else if (config_.warmup.value > 0) {
    const auto step = static_cast<double>(state.clock.step);
    const double share = step / length_of(config_.warmup, state.clock.lengths);
    set_rate(config_.drop_rate * std::min(1.0, share));
  }
}

void StochasticDepth::change(const torch::nn::Module& network, bool is_main_rank) {
  blocks_ = residual_blocks(network);
  if (blocks_.empty()) {
    throw base::ConfigError(
        "algorithms.stochastic_depth finds no residual block in this model: take it out, or choose "
        "a model like resnet50");
  }
  for (const auto& [block, drop_paths] : blocks_) {
    if (drop_paths.front()->rule().rate > 0) {
      throw base::ConfigError(
          "algorithms.stochastic_depth and model.drop_path_rate both drop residual branches: keep "
          "one of them");
    }
    if (config_.rescale == DropRescale::kComposer) layers_["blocks"].push_back(block);
  }
  if (config_.method == DropMethod::kBlock && nn::has_training_kernels(network)) {
    throw base::ConfigError(
        "algorithms.stochastic_depth leaves blocks out on one rank and not on another, so their "
        "parallel.sync_batch_norm would wait for each other: use method: sample, or drop one");
  }
  set_rate(config_.drop_rate);
  if (is_main_rank)
    base::log_info("stochastic_depth: {} residual blocks are left out at random", blocks_.size());
}

void StochasticDepth::set_rate(double rate) {
  rate_ = rate;
  set_drop_rules(blocks_, config_, rate_);
}

std::unique_ptr<train::Algorithm> make(const StochasticDepthConfig& config) {
  return std::make_unique<StochasticDepth>(config);
}

}  // namespace paceline::algorithms
