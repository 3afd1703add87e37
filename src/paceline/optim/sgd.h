#pragma once

#include "paceline/config/schema.h"
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
  static constexpr auto fields = std::tuple{
      field(&Config::lr, "lr", "Base learning rate.", AtLeast{0.0},
            AtMost{1e06, "no weights survive a step"}, MayChangeOnResume{}),
      field(&Config::momentum, "momentum", "Momentum factor.", InRange{0.0, 1.0}),
      field(&Config::dampening, "dampening", "Share of the gradient kept out of the momentum.",
            InRange{0.0, 1.0}, MayChangeOnResume{}),
      field(&Config::nesterov, "nesterov", "Nesterov momentum.", MayChangeOnResume{}),
      field(&Config::weight_decay, "weight_decay", "Weight decay, added to the gradient.",
            AtLeast{0.0}, AtMost{1000, "no weights survive a step"}, MayChangeOnResume{}),
      field(&Config::decay_norm_and_bias, "decay_norm_and_bias",
            "Decay norms and biases too, as torch.optim does."),
      field(&Config::no_decay, "no_decay",
            "Last names of further parameters without decay, such as pos_embed."),
      field(&Config::lr_scale, "lr_scale",
            "Factors on the learning rate by part: {head: 10, 'blocks.*': 0.1}; parts are named as "
            "in model.freeze, and of several that hold a parameter the most exact one "
            "counts.",
            AtLeast{0.0}, AtMost{1e6, "no weights survive a step"}, MayChangeOnResume{})};
};
