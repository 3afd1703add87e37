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

struct LarsConfig {
  double lr = 1.0;
  double momentum = 0.9;
  double dampening = 0.0;
  bool nesterov = false;
  double trust_coeff = 0.001;
  double eps = 1e-8;
  bool trust_clip = false;
  bool always_adapt = false;
  double weight_decay = 1e-4;
  bool decay_norm_and_bias = false;
  std::vector<std::string> no_decay = {};
  std::map<std::string, double> lr_scale = {};
  std::map<std::string, double> decay_scale = {};
  double layer_decay = 1.0;
};

/// You, Gitman and Ginsburg, "Large batch training of convolutional networks", 2017, as timm's
/// Lars; with trust_clip its LARC. Throws ConfigError for Nesterov momentum without momentum or
/// with dampening.
std::unique_ptr<Optimizer> make_optimizer(const LarsConfig& config, std::vector<ParamGroup> groups,
                                          const ParameterShards& shards = {});
std::unique_ptr<OptimizerPlan> make(const LarsConfig& config);

}  // namespace paceline::optim

template <>
struct paceline::config::Schema<paceline::optim::LarsConfig> {
  using Config = paceline::optim::LarsConfig;
  static constexpr std::string_view name = "lars";
  static constexpr std::string_view summary =
      "SGD whose gradients are scaled to each parameter's length, for large batches.";
  static constexpr std::string_view paper = "You et al., 2017";
  static constexpr auto fields = std::tuple_cat(
      optim::momentum_fields<Config>(),
      std::tuple{
          field(&Config::trust_coeff, "trust_coeff",
                "Length of a gradient over that of its parameter.", MoreThan{0.0},
                AtMost{1e06, "no weights survive a step"}, MayChangeOnResume{}),
          optim::eps_field<Config>("Added to the gradient's length."),
          field(&Config::trust_clip, "trust_clip",
                "No step is longer than SGD's, and the ratio counts besides the learning rate "
                "(LARC).",
                MayChangeOnResume{}),
          field(&Config::always_adapt, "always_adapt",
                "Scale the gradients of parameters without weight decay, too.",
                MayChangeOnResume{})},
      optim::group_fields<Config>("Weight decay, added to the gradient before it is scaled."));
};
