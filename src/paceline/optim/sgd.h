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

struct SgdConfig {
  double lr = 0.1;
  double momentum = 0.9;
  double dampening = 0.0;
  bool nesterov = false;
  double weight_decay = 1e-4;
  bool decay_norm_and_bias = false;
  std::vector<std::string> no_decay = {};
  std::map<std::string, double> lr_scale = {};
  std::map<std::string, double> decay_scale = {};
  double layer_decay = 1.0;
};

/// torch.optim.SGD's update, by LibTorch's fused kernel. The groups' own weight_decay is what
/// counts; config.lr and config.weight_decay are for whoever makes the schedule and the groups.
/// Throws ConfigError for Nesterov momentum without momentum or with dampening, InternalError for
/// slots whose gradient is not laid out like the parameter.
std::unique_ptr<Optimizer> make_optimizer(const SgdConfig& config, std::vector<ParamGroup> groups);

std::unique_ptr<OptimizerPlan> make(const SgdConfig& config);

}  // namespace paceline::optim

template <>
struct paceline::config::Schema<paceline::optim::SgdConfig> {
  using Config = paceline::optim::SgdConfig;
  static constexpr std::string_view name = "sgd";
  static constexpr std::string_view summary = "Stochastic gradient descent with momentum.";
  static constexpr std::string_view paper = "Sutskever et al., ICML 2013";
  static constexpr auto fields =
      std::tuple_cat(optim::momentum_fields<Config>(),
                     optim::group_fields<Config>("Weight decay, added to the gradient."));
};
