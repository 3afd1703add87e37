#pragma once

#include "paceline/app/recipe/recipe.h"
#include "paceline/comm/communicator.h"
#include "paceline/optim/optimizer_plan.h"
#include "paceline/parallel/strategy.h"
#include "paceline/tensor/device.h"
#include "paceline/train/task.h"

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace paceline::app {

struct Registries;  // app/recipe/builtin.h

/// Lets a GPU take the kernels that are fastest there or, with run.deterministic, none whose result
/// depends on timing. To be called before the first tensor is there.
void choose_kernels(const Recipe& recipe, const tensor::Device& device);

/// The task of a recipe, its networks in their dtype and memory order. Their parameters have no
/// memory before a strategy is prepared with their initial_values(). Throws ConfigError, also for a
/// `loss` that the task does not take.
std::unique_ptr<train::Task> make_task(const Recipe& recipe, const Registries& registries);

/// How an optimizer divides this network's parameters. Throws ConfigError for a part in
/// optimizer.lr_scale that the network has not got.
std::vector<optim::GroupRule> group_rules(const optim::OptimizerPlan& plan,
                                          const nn::Network& network);

/// Throws ConfigError where the options of the strategy that the recipe names, and of BatchNorm's
/// groups, do not go with each other or train.precision.
void check_strategy_options(const Recipe& recipe);

/// That a key needs what the model has not got, for an error.
std::string no_batch_norm(const Recipe& recipe, std::string_view key);

/// How BatchNorms were synchronised.
struct BatchNormGroup {
  bool is_forward_collective = false;         ///< forward passes need every rank
  std::unique_ptr<comm::Communicator> ranks;  ///< that share statistics; null: none do
};

/// Gives BatchNorms the statistics of all ranks, or of this rank's group, if the recipe says so.
/// `notes` receives that one rank has nothing to synchronise. Throws ConfigError for a model
/// without BatchNorm. The result and the communicator must outlive the network's training. Every
/// rank must call it.
BatchNormGroup synchronise_batch_norm(const Recipe& recipe, nn::Network& network,
                                      comm::Communicator& communicator,
                                      std::vector<std::string>& notes);

/// Whether parameters come and go block by block, instead of staying whole on every rank.
bool gathers_blocks(ParallelStrategy strategy);

/// The strategy that the recipe names; "auto" is ddp on several ranks. Throws ConfigError for
/// `none` on several ranks, which would train each rank alone.
///
/// Under bf16 and fp16, fsdp and hsdp gather parameters in that type unless the recipe says
/// otherwise. `ranks_per_node` is hsdp's usual group.
std::unique_ptr<parallel::Strategy> make_strategy(const Recipe& recipe,
                                                  comm::Communicator& communicator,
                                                  int ranks_per_node);

}  // namespace paceline::app
