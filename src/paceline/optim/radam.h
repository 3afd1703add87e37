#pragma once

#include "paceline/optim/config_fields.h"
#include "paceline/optim/optimizer.h"
#include "paceline/optim/optimizer_plan.h"

#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

namespace paceline::optim {

struct RAdamConfig {
  double lr = 1e-3;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double eps = 1e-8;
  bool decoupled_decay = false;
  double weight_decay = 0.0;
  bool decay_norm_and_bias = false;
  std::vector<std::string> no_decay = embedding_names();
  std::map<std::string, double> lr_scale = {};
  std::map<std::string, double> decay_scale = {};
  double layer_decay = 1.0;
};

/// torch.optim.RAdam's update: plain momentum until the mean of squares can be relied on.
std::unique_ptr<Optimizer> make_optimizer(const RAdamConfig& config,
                                          std::vector<ParamGroup> groups);
std::unique_ptr<OptimizerPlan> make(const RAdamConfig& config);

}  // namespace paceline::optim

template <>
struct paceline::config::Schema<paceline::optim::RAdamConfig> {
  using Config = paceline::optim::RAdamConfig;
  static constexpr std::string_view name = "radam";
  static constexpr std::string_view summary = "Adam that warms itself up.";
  static constexpr std::string_view paper = "Liu et al., ICLR 2020";
  static constexpr auto fields = std::tuple_cat(
      optim::adam_fields<Config>(),
      std::tuple{
          field(&Config::decoupled_decay, "decoupled_decay", "Weight decay as AdamW has it.")},
      optim::group_fields<Config>("Weight decay, added to the gradient unless decoupled."));
};
