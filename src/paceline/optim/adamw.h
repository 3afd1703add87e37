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

struct AdamWConfig {
  double lr = 1e-3;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double eps = 1e-8;
  double weight_decay = 0.01;
  bool decay_norm_and_bias = false;
  std::vector<std::string> no_decay = {"pos_embed", "cls_token"};
  std::map<std::string, double> lr_scale = {};
};

/// torch.optim.AdamW's update (weight decay is decoupled), by LibTorch's fused kernel. The groups'
/// own weight_decay is what counts; config.lr and config.weight_decay are for whoever makes the
/// schedule and the groups. Throws InternalError for slots whose gradient is not laid out like the
/// parameter.
std::unique_ptr<Optimizer> make_optimizer(const AdamWConfig& config,
                                          std::vector<ParamGroup> groups);

std::unique_ptr<OptimizerPlan> make(const AdamWConfig& config);

}  // namespace paceline::optim

template <>
struct paceline::config::Schema<paceline::optim::AdamWConfig> {
  using Config = paceline::optim::AdamWConfig;
  static constexpr std::string_view name = "adamw";
  static constexpr std::string_view summary = "Adam with decoupled weight decay.";
  static constexpr std::string_view paper = "Loshchilov and Hutter, ICLR 2019";
  static constexpr auto fields = std::tuple{
      field(&Config::lr, "lr", "Base learning rate.", AtLeast{0.0},
            AtMost{1e06, "no weights survive a step"}, MayChangeOnResume{}),
      field(&Config::beta1, "beta1", "Decay of the mean of gradients.", AtLeast{0.0}, LessThan{1.0},
            MayChangeOnResume{}),
      field(&Config::beta2, "beta2", "Decay of the mean of squared gradients.", AtLeast{0.0},
            LessThan{1.0}, MayChangeOnResume{}),
      field(&Config::eps, "eps", "Added to the denominator.", MoreThan{0.0},
            AtMost{1, "nothing would be left of a step"}, MayChangeOnResume{}),
      field(&Config::weight_decay, "weight_decay", "Weight decay, times the learning rate.",
            AtLeast{0.0}, AtMost{1000, "no weights survive a step"}, MayChangeOnResume{}),
      field(&Config::decay_norm_and_bias, "decay_norm_and_bias",
            "Decay norms and biases too, as torch.optim does."),
      field(&Config::no_decay, "no_decay", "Last names of further parameters without decay."),
      field(&Config::lr_scale, "lr_scale",
            "Factors on the learning rate by part: {head: 10, 'blocks.*': 0.1}; parts are named as "
            "in model.freeze, and of several that hold a parameter the most exact one "
            "counts.",
            AtLeast{0.0}, AtMost{1e6, "no weights survive a step"}, MayChangeOnResume{})};
};
