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

struct DecoupledSgdwConfig {
  double lr = 0.1;
  double momentum = 0.0;
  double dampening = 0.0;
  bool nesterov = false;
  double weight_decay = 0.0;
  bool decay_norm_and_bias = false;
  std::vector<std::string> no_decay = {};
  std::map<std::string, double> lr_scale = {};
  std::map<std::string, double> decay_scale = {};
  double layer_decay = 1.0;
};

/// SGD whose weight decay is decoupled from gradient and learning rate alike: a step multiplies a
/// parameter by 1 - weight_decay * lr / config.lr, where the schedule moves lr. As Composer's
/// DecoupledSGDW. Paper: Loshchilov and Hutter, "Decoupled weight decay regularization", ICLR 2019.
/// Throws InternalError for slots whose gradient is not laid out like the parameter.
std::unique_ptr<Optimizer> make_optimizer(const DecoupledSgdwConfig& config,
                                          std::vector<ParamGroup> groups);
std::unique_ptr<OptimizerPlan> make(const DecoupledSgdwConfig& config);

struct DecoupledAdamWConfig {
  double lr = 1e-3;
  double beta1 = 0.9;
  double beta2 = 0.95;
  double eps = 1e-8;
  double weight_decay = 1e-5;
  bool decay_norm_and_bias = false;
  std::vector<std::string> no_decay = embedding_names();
  std::map<std::string, double> lr_scale = {};
  std::map<std::string, double> decay_scale = {};
  double layer_decay = 1.0;
};

/// Adam with the same weight decay, as Composer's DecoupledAdamW.
std::unique_ptr<Optimizer> make_optimizer(const DecoupledAdamWConfig& config,
                                          std::vector<ParamGroup> groups);
std::unique_ptr<OptimizerPlan> make(const DecoupledAdamWConfig& config);

}  // namespace paceline::optim

template <>
struct paceline::config::Schema<paceline::optim::DecoupledSgdwConfig> {
  using Config = paceline::optim::DecoupledSgdwConfig;
  static constexpr std::string_view name = "decoupled_sgdw";
  static constexpr std::string_view summary =
      "SGD with weight decay that does not depend on the base learning rate.";
  static constexpr std::string_view paper = "Loshchilov and Hutter, ICLR 2019";
  static constexpr auto fields =
      std::tuple_cat(optim::momentum_fields<Config>(),
                     optim::group_fields<Config>(
                         "Weight decay, times the learning rate over the base learning rate."));
  static void validate(const Config& config, Problems& problems) {
    if (config.nesterov && (config.momentum == 0 || config.dampening != 0))
      problems.add("nesterov", "needs momentum above 0 and dampening 0");
  }
};

template <>
struct paceline::config::Schema<paceline::optim::DecoupledAdamWConfig> {
  using Config = paceline::optim::DecoupledAdamWConfig;
  static constexpr std::string_view name = "decoupled_adamw";
  static constexpr std::string_view summary =
      "Adam with weight decay that does not depend on the base learning rate.";
  static constexpr std::string_view paper = "Loshchilov and Hutter, ICLR 2019";
  static constexpr auto fields =
      std::tuple_cat(optim::adam_fields<Config>(),
                     optim::group_fields<Config>(
                         "Weight decay, times the learning rate over the base learning rate."));
};
