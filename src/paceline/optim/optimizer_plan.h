#pragma once

#include "paceline/optim/optimizer.h"
#include "paceline/optim/param_groups.h"

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace paceline::optim {

/// An optimizer before the strategy has laid out the parameters.
struct OptimizerPlan {
  double lr = 0;                              ///< base learning rate, which the schedule scales
  std::vector<GroupRule> rules;               ///< how parameters are divided
  std::map<std::string, double> lr_scale;     ///< factors by nn::NetworkPart
  std::map<std::string, double> decay_scale;  ///< likewise, on weight decay
  double layer_decay = 1.0;                   ///< a layer's learning rate over that of the next
  std::function<std::unique_ptr<Optimizer>(std::vector<ParamGroup>, const ParameterShards&)> make;
};

/// The plan of an optimizer whose Config divides parameters by weight_decay_rules() and that
/// make_optimizer(config, groups) makes, or make_optimizer(config, groups, shards). What an
/// optimizer's make() returns.
template <class Config>
std::unique_ptr<OptimizerPlan> plan_of(const Config& config) {
  return std::make_unique<OptimizerPlan>(OptimizerPlan{
      config.lr,
      weight_decay_rules(config.weight_decay, config.decay_norm_and_bias, config.no_decay),
      config.lr_scale, config.decay_scale, config.layer_decay,
      [config](std::vector<ParamGroup> groups, const ParameterShards& shards) {
        if constexpr (requires { make_optimizer(config, std::move(groups), shards); }) {
          return make_optimizer(config, std::move(groups), shards);
        } else {
          return make_optimizer(config, std::move(groups));
        }
      }});
}

}  // namespace paceline::optim
