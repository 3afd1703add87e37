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

struct RmspropConfig {
  double lr = 1e-2;
  double alpha = 0.99;
  double eps = 1e-8;
  double momentum = 0.0;
  bool centered = false;
  double weight_decay = 0.0;
  bool decay_norm_and_bias = false;
  std::vector<std::string> no_decay = embedding_names();
  std::map<std::string, double> lr_scale = {};
  std::map<std::string, double> decay_scale = {};
  double layer_decay = 1.0;
};

/// torch.optim.RMSprop's update: weight decay is added to the gradient.
std::unique_ptr<Optimizer> make_optimizer(const RmspropConfig& config,
                                          std::vector<ParamGroup> groups);
std::unique_ptr<OptimizerPlan> make(const RmspropConfig& config);

struct RmspropTfConfig {
  double lr = 1e-2;
  double alpha = 0.9;
  double eps = 1e-10;
  double momentum = 0.0;
  bool centered = false;
  bool lr_in_momentum = true;
  bool decoupled_decay = false;
  double weight_decay = 0.0;
  bool decay_norm_and_bias = false;
  std::vector<std::string> no_decay = embedding_names();
  std::map<std::string, double> lr_scale = {};
  std::map<std::string, double> decay_scale = {};
  double layer_decay = 1.0;
};

/// TensorFlow's, as timm's RMSpropTF: the mean of squares begins with ones, and eps is added before
/// the root. It trained the published EfficientNets and MobileNets.
std::unique_ptr<Optimizer> make_optimizer(const RmspropTfConfig& config,
                                          std::vector<ParamGroup> groups);
std::unique_ptr<OptimizerPlan> make(const RmspropTfConfig& config);

}  // namespace paceline::optim

template <>
struct paceline::config::Schema<paceline::optim::RmspropConfig> {
  using Config = paceline::optim::RmspropConfig;
  static constexpr std::string_view name = "rmsprop";
  static constexpr std::string_view summary = "Gradients over the root of their mean square.";
  static constexpr std::string_view paper = "Hinton, lecture 6e, 2012";
  static constexpr auto fields = std::tuple_cat(
      std::tuple{optim::lr_field<Config>(),
                 optim::decay_field(&Config::alpha, "alpha", "Decay of the mean of squares."),
                 optim::eps_field<Config>("Added to the denominator."),
                 field(&Config::momentum, "momentum", "Momentum factor.", InRange{0.0, 1.0}),
                 field(&Config::centered, "centered",
                       "Take the mean of gradients out of the mean of their squares.")},
      optim::group_fields<Config>("Weight decay, added to the gradient."));
};

template <>
struct paceline::config::Schema<paceline::optim::RmspropTfConfig> {
  using Config = paceline::optim::RmspropTfConfig;
  static constexpr std::string_view name = "rmsprop_tf";
  static constexpr std::string_view summary = "RMSprop as TensorFlow has it.";
  static constexpr std::string_view paper = "Hinton, lecture 6e, 2012";
  static constexpr auto fields = std::tuple_cat(
      std::tuple{
          optim::lr_field<Config>(),
          optim::decay_field(&Config::alpha, "alpha", "Decay of the mean of squares."),
          optim::eps_field<Config>("Added to the mean of squares."),
          field(&Config::momentum, "momentum", "Momentum factor.", InRange{0.0, 1.0}),
          field(&Config::centered, "centered",
                "Take the mean of gradients out of the mean of their squares."),
          field(&Config::lr_in_momentum, "lr_in_momentum",
                "The momentum is one of steps, not of gradients."),
          field(&Config::decoupled_decay, "decoupled_decay", "Weight decay as AdamW has it.")},
      optim::group_fields<Config>("Weight decay, added to the gradient unless decoupled."));
};
