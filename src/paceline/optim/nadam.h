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

struct NAdamConfig {
  double lr = 2e-3;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double eps = 1e-8;
  double momentum_decay = 4e-3;
  bool decoupled_decay = false;
  double weight_decay = 0.0;
  bool decay_norm_and_bias = false;
  std::vector<std::string> no_decay = embedding_names();
  std::map<std::string, double> lr_scale = {};
  std::map<std::string, double> decay_scale = {};
  double layer_decay = 1.0;
};

/// torch.optim.NAdam's update: Nesterov momentum with a momentum that grows over the steps.
std::unique_ptr<Optimizer> make_optimizer(const NAdamConfig& config,
                                          std::vector<ParamGroup> groups);
std::unique_ptr<OptimizerPlan> make(const NAdamConfig& config);

struct NAdamWConfig {
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

/// timm's NAdamW, the one of MLCommons' AlgoPerf: AdamW that steps along the mean of gradients as
/// it would be after this gradient once more.
std::unique_ptr<Optimizer> make_optimizer(const NAdamWConfig& config,
                                          std::vector<ParamGroup> groups);
std::unique_ptr<OptimizerPlan> make(const NAdamWConfig& config);

}  // namespace paceline::optim

template <>
struct paceline::config::Schema<paceline::optim::NAdamConfig> {
  using Config = paceline::optim::NAdamConfig;
  static constexpr std::string_view name = "nadam";
  static constexpr std::string_view summary = "Adam with Nesterov momentum.";
  static constexpr std::string_view paper = "Dozat, ICLR workshop 2016";
  static constexpr auto fields = std::tuple_cat(
      optim::adam_fields<Config>(),
      std::tuple{
          field(&Config::momentum_decay, "momentum_decay",
                "How fast the momentum grows towards beta1.", AtLeast{0.0}, AtMost{1000}),
          field(&Config::decoupled_decay, "decoupled_decay", "Weight decay as AdamW has it.")},
      optim::group_fields<Config>("Weight decay, added to the gradient unless decoupled."));
};

template <>
struct paceline::config::Schema<paceline::optim::NAdamWConfig> {
  using Config = paceline::optim::NAdamWConfig;
  static constexpr std::string_view name = "nadamw";
  static constexpr std::string_view summary = "AdamW with Nesterov momentum.";
  static constexpr std::string_view paper = "Dahl et al., 2023";
  static constexpr auto fields =
      std::tuple_cat(optim::adam_fields<Config>(),
                     optim::group_fields<Config>("Weight decay, times the learning rate."));
};
