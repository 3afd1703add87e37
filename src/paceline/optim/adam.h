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

struct AdamConfig {
  double lr = 1e-3;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double eps = 1e-8;
  double weight_decay = 0.0;
  bool decay_norm_and_bias = false;
  std::vector<std::string> no_decay = embedding_names();
  std::map<std::string, double> lr_scale = {};
  std::map<std::string, double> decay_scale = {};
  double layer_decay = 1.0;
};

/// torch.optim.Adam's update, by LibTorch's fused kernel: weight decay is added to the gradient.
/// The groups' own weight_decay is what counts; config.lr and config.weight_decay are for whoever
/// makes the schedule and the groups. Throws InternalError for slots whose gradient is not laid out
/// like the parameter.
std::unique_ptr<Optimizer> make_optimizer(const AdamConfig& config, std::vector<ParamGroup> groups);
std::unique_ptr<OptimizerPlan> make(const AdamConfig& config);

struct AdamWConfig {
  double lr = 1e-3;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double eps = 1e-8;
  double weight_decay = 0.01;
  bool decay_norm_and_bias = false;
  std::vector<std::string> no_decay = embedding_names();
  std::map<std::string, double> lr_scale = {};
  std::map<std::string, double> decay_scale = {};
  double layer_decay = 1.0;
};

/// The same for torch.optim.AdamW, whose weight decay is decoupled.
std::unique_ptr<Optimizer> make_optimizer(const AdamWConfig& config,
                                          std::vector<ParamGroup> groups);
std::unique_ptr<OptimizerPlan> make(const AdamWConfig& config);

}  // namespace paceline::optim

template <>
struct paceline::config::Schema<paceline::optim::AdamConfig> {
  using Config = paceline::optim::AdamConfig;
  static constexpr std::string_view name = "adam";
  static constexpr std::string_view summary =
      "Means of gradients over the root of means of their squares.";
  static constexpr std::string_view paper = "Kingma and Ba, ICLR 2015";
  static constexpr auto fields =
      std::tuple_cat(optim::adam_fields<Config>(),
                     optim::group_fields<Config>("Weight decay, added to the gradient."));
};

template <>
struct paceline::config::Schema<paceline::optim::AdamWConfig> {
  using Config = paceline::optim::AdamWConfig;
  static constexpr std::string_view name = "adamw";
  static constexpr std::string_view summary = "Adam with decoupled weight decay.";
  static constexpr std::string_view paper = "Loshchilov and Hutter, ICLR 2019";
  static constexpr auto fields =
      std::tuple_cat(optim::adam_fields<Config>(),
                     optim::group_fields<Config>("Weight decay, times the learning rate."));
};
