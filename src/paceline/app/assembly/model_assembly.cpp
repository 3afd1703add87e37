#include "paceline/app/assembly/model_assembly.h"

#include "paceline/app/recipe/builtin.h"
#include "paceline/app/recipe/recipe_parts.h"
#include "paceline/base/error.h"
#include "paceline/base/text.h"
#include "paceline/config/write.h"
#include "paceline/nn/activation_checkpoint.h"
#include "paceline/nn/batch_norm.h"
#include "paceline/nn/module_tree.h"
#include "paceline/nn/network_parts.h"
#include "paceline/nn/unit.h"
#include "paceline/parallel/batch_norm/sync_batch_norm.h"
#include "paceline/parallel/replicated/replicated_strategy.h"
#include "paceline/parallel/sharded/sharded_strategy.h"
#include "paceline/train/task.h"

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <utility>

namespace paceline::app {
namespace {

using parallel::ShardDtype;

/// The recipe's options with the type in which parameters are gathered.
parallel::ShardedConfig sharded_config(const Recipe& recipe) {
  parallel::ShardedConfig config = recipe.parallel.fsdp;
  const train::Precision precision = recipe.train.precision;
  const bool is_mixed =
      precision == train::Precision::kBFloat16 || precision == train::Precision::kFloat16;
  if (config.param_dtype && *config.param_dtype != ShardDtype::kFloat32 && !is_mixed) {
    throw base::ConfigError(
        "parallel.fsdp.param_dtype: bf16 or fp16 weights need train.precision: bf16 or fp16");
  }
  const bool has_fp16 =
      config.param_dtype == ShardDtype::kFloat16 || config.reduce_dtype == ShardDtype::kFloat16;
  if (has_fp16 && precision != train::Precision::kFloat16) {
    throw base::ConfigError(
        "parallel.fsdp: fp16 weights or sums need the loss scaling of train.precision: fp16");
  }
  if (precision == train::Precision::kFloat64 && (config.param_dtype || config.reduce_dtype)) {
    throw base::ConfigError(
        "parallel.fsdp: param_dtype and reduce_dtype do not go with train.precision: fp64");
  }
  if (!config.param_dtype && is_mixed && gathers_blocks(recipe.parallel.strategy)) {
    config.param_dtype =
        precision == train::Precision::kBFloat16 ? ShardDtype::kBFloat16 : ShardDtype::kFloat16;
  }
  if (config.shard_group_size && recipe.parallel.strategy != ParallelStrategy::kHsdp)
    throw base::ConfigError("parallel.fsdp.shard_group_size needs parallel.strategy: hsdp");
  return config;
}

void check_batch_norm_group(const ParallelSection& section) {
  if (section.sync_batch_norm_group_size && !section.sync_batch_norm) {
    throw base::ConfigError(
        "parallel.sync_batch_norm_group_size needs parallel.sync_batch_norm: true");
  }
}

parallel::DdpConfig ddp_config(const Recipe& recipe) {
  const parallel::DdpConfig& config = recipe.parallel.ddp;
  if (config.compression == parallel::Compression::kPowerSgd &&
      recipe.train.precision == train::Precision::kFloat16) {
    throw base::ConfigError(
        "parallel.ddp.compression: powersgd adds what it left out to the next step's gradients, "
        "which train.precision: fp16 may have scaled by another factor; choose bf16 or fp32");
  }
  return config;
}

nn::NetworkPart part_of(const nn::Network& network, const std::string& pattern,
                        std::string_view key) {
  try {
    return {network, pattern};
  } catch (const base::ConfigError& error) {
    throw base::ConfigError(fmt::format("{}: {}", key, error.what()));
  }
}

void freeze_parts(nn::Network& network, const std::vector<std::string>& patterns) {
  std::vector<nn::NetworkPart> parts;
  for (const std::string& pattern : patterns)
    parts.push_back(part_of(network, pattern, "model.freeze"));
  try {
    nn::freeze(network, parts);
  } catch (const base::ConfigError& error) {
    throw base::ConfigError(fmt::format("model.freeze: {}", error.what()));
  }
}

/// A task may have a loss of its own; then what the recipe says of `loss` would change nothing.
void refuse_unused_loss(const Recipe& recipe, const Registries& registries) {
  if (recipe.loss.options == nullptr) return;  // nothing is said
  const std::string usual = Recipe().loss.name;
  const config::ComponentEntry& entry = *registries.losses.find(usual);
  const config::Node defaults = config::to_node(*entry.info, entry.make().get());
  std::string keys = "loss";
  if (recipe.loss.name == usual) {
    const config::Node written = config::options_of(recipe.loss);
    if (config::same_value(written, defaults)) return;
    std::vector<std::string> changed;
    for (const config::MapEntry& value : written.entries) {
      if (!config::same_value(value.value, *defaults.find(value.key)))
        changed.push_back("loss." + value.key);
    }
    keys = base::join(changed, ", ");
  }
  throw base::ConfigError(
      fmt::format("{}: task {} has a loss of its own and would ignore it; take it out", keys,
                  recipe.task.name));
}

/// What the network says itself, or the stem, each block and the head.
std::vector<std::vector<std::string>> layers_of(const nn::Network& network) {
  std::vector<std::vector<std::string>> layers = network.layer_names();
  if (!layers.empty()) return layers;
  layers.push_back(network.stem_names());
  for (const nn::NamedUnit& block : nn::units(network)) layers.push_back({block.name});
  if (layers.size() == 1 || network.head_names().empty()) {
    throw base::ConfigError(
        "optimizer.layer_decay: this network does not say which of its modules are blocks and "
        "which is its head: give its parts their factors by optimizer.lr_scale");
  }
  layers.push_back(network.head_names());
  return layers;
}

std::vector<optim::GroupRule> rules_by_layer(const optim::OptimizerPlan& plan,
                                             const nn::Network& network) {
  if (plan.layer_decay == 1) return plan.rules;
  return optim::scale_learning_rates(plan.rules,
                                     optim::layer_scales(plan.layer_decay, layers_of(network)));
}

/// The most exact first.
std::vector<optim::PartScale> part_scales(const std::map<std::string, double>& factors,
                                          std::string_view key, const nn::Network& network) {
  std::vector<optim::PartScale> scales;
  for (const auto& [pattern, factor] : factors) {
    const auto part = part_of(network, pattern, key);
    scales.push_back(
        {pattern, factor, [part](const std::string& name) { return part.holds(name); }});
  }
  std::ranges::stable_sort(scales, std::greater<>(), [](const optim::PartScale& scale) {
    // How much of it is written out; of equals the name before the pattern.
    const std::string& name = scale.name;
    return std::pair(std::ranges::count_if(name, [](char c) { return c != '*' && c != '?'; }),
                     name.find_first_of("*?[") == std::string::npos);
  });
  return scales;
}

}  // namespace

void choose_kernels(const Recipe& recipe, const tensor::Device& device) {
  if (device.place().is_cpu()) return;
  const bool is_deterministic = recipe.run.deterministic;
  if (is_deterministic) setenv("CUBLAS_WORKSPACE_CONFIG", ":4096:8", /*overwrite=*/0);
  at::Context& torch = at::globalContext();
  torch.setBenchmarkCuDNN(!is_deterministic);
  torch.setDeterministicCuDNN(is_deterministic);
  torch.setDeterministicAlgorithms(is_deterministic, /*warn_only=*/false);
}

std::vector<optim::GroupRule> group_rules(const optim::OptimizerPlan& plan,
                                          const nn::Network& network) {
  const auto rules = optim::scale_learning_rates(
      rules_by_layer(plan, network), part_scales(plan.lr_scale, "optimizer.lr_scale", network));
  return optim::scale_weight_decays(
      rules, part_scales(plan.decay_scale, "optimizer.decay_scale", network));
}

std::unique_ptr<train::Task> make_task(const Recipe& recipe, const Registries& registries) {
  RecipeParts parts(recipe, registries);
  auto task = registries.tasks.build(recipe.task, parts);
  if (!parts.has_made_loss()) refuse_unused_loss(recipe, registries);
  nn::Network* const network = &task->network();
  nn::defer_values(*network);
  nn::set_dtype(*network, train::storage_dtype(recipe.train.precision));
  if (recipe.model.freeze_batch_norm && nn::set_batch_norm_frozen(*network, true) == 0) {
    throw base::ConfigError(no_batch_norm(recipe, "model.freeze_batch_norm"));
  }
  if (!recipe.model.freeze.empty()) freeze_parts(*network, recipe.model.freeze);
  if (recipe.train.channels_last) nn::set_channels_last(*network);
  if (recipe.train.activation_checkpointing) {
    nn::set_activation_checkpointing(*network, recipe.train.activation_checkpointing->every,
                                     recipe.train.activation_checkpointing->keep);
  }
  return task;
}

void check_strategy_options(const Recipe& recipe) {
  sharded_config(recipe);
  if (recipe.parallel.strategy == ParallelStrategy::kDdp) ddp_config(recipe);
  check_batch_norm_group(recipe.parallel);
}

std::string no_batch_norm(const Recipe& recipe, std::string_view key) {
  return fmt::format("{}: {} has no BatchNorm", key, recipe.model.network.name);
}

BatchNormGroup synchronise_batch_norm(const Recipe& recipe, nn::Network& network,
                                      comm::Communicator& communicator,
                                      std::vector<std::string>& notes) {
  const std::optional<int> group_size = recipe.parallel.sync_batch_norm_group_size;
  const int world_size = communicator.world_size();
  check_batch_norm_group(recipe.parallel);
  if (!recipe.parallel.sync_batch_norm) return {};
  BatchNormGroup group{world_size > 1, nullptr};
  if (world_size == 1) {
    notes.emplace_back("parallel.sync_batch_norm changes nothing on one rank");
  } else if (group_size && world_size % *group_size != 0) {
    throw base::ConfigError(
        fmt::format("parallel.sync_batch_norm_group_size is {}, which does not divide the {} ranks "
                    "of this run",
                    *group_size, world_size));
  } else {
    // Passes wait for these sums; those of gradients start when gradients come, which may differ by
    // rank. Apart from each other neither order need fit the other's.
    group.ranks = communicator.split(group_size ? communicator.rank() / *group_size : 0);
  }
  if (parallel::set_sync_batch_norm(network, group.ranks ? *group.ranks : communicator) == 0) {
    throw base::ConfigError(no_batch_norm(recipe, "parallel.sync_batch_norm"));
  }
  return group;
}

bool gathers_blocks(ParallelStrategy strategy) {
  return strategy == ParallelStrategy::kFsdp || strategy == ParallelStrategy::kHsdp;
}

std::unique_ptr<parallel::Strategy> make_strategy(const Recipe& recipe,
                                                  comm::Communicator& communicator,
                                                  int ranks_per_node) {
  const ParallelSection& section = recipe.parallel;
  const parallel::ShardedConfig sharded = sharded_config(recipe);
  switch (section.strategy) {
    case ParallelStrategy::kZero1:
      return parallel::make_zero1(sharded, communicator);
    case ParallelStrategy::kZero2:
      return parallel::make_zero2(sharded, communicator);
    case ParallelStrategy::kFsdp:
      return parallel::make_fsdp(sharded, communicator);
    case ParallelStrategy::kHsdp:
      return parallel::make_hsdp(sharded, sharded.shard_group_size.value_or(ranks_per_node),
                                 communicator);
    case ParallelStrategy::kDdp:
    case ParallelStrategy::kNone:
    case ParallelStrategy::kAuto:
      break;
  }
  const bool has_peers = communicator.world_size() > 1;
  if (section.strategy == ParallelStrategy::kNone && has_peers) {
    throw base::ConfigError(
        fmt::format("parallel.strategy: none is for one rank, and this run has {}; choose ddp, or "
                    "start one rank",
                    communicator.world_size()));
  }
  if (section.strategy == ParallelStrategy::kDdp || has_peers) {
    return parallel::make_ddp(ddp_config(recipe), communicator);
  }
  return parallel::make_none(section.none);
}

}  // namespace paceline::app
