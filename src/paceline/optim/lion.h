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

struct LionConfig {
  double lr = 1e-4;
  double beta1 = 0.9;
  double beta2 = 0.99;
  double weight_decay = 0.0;
  bool decay_norm_and_bias = false;
  std::vector<std::string> no_decay = embedding_names();
  std::map<std::string, double> lr_scale = {};
  std::map<std::string, double> decay_scale = {};
  double layer_decay = 1.0;
};

/// Chen et al., "Symbolic discovery of optimization algorithms", 2023, as timm's Lion: weight decay
/// is decoupled.
std::unique_ptr<Optimizer> make_optimizer(const LionConfig& config, std::vector<ParamGroup> groups);
std::unique_ptr<OptimizerPlan> make(const LionConfig& config);

}  // namespace paceline::optim

template <>
struct paceline::config::Schema<paceline::optim::LionConfig> {
  using Config = paceline::optim::LionConfig;
  static constexpr std::string_view name = "lion";
  static constexpr std::string_view summary =
      "Steps of equal size along the sign of a mean of gradients.";
  static constexpr std::string_view paper = "Chen et al., NeurIPS 2023";
  static constexpr auto fields = std::tuple_cat(
      std::tuple{optim::lr_field<Config>(),
                 optim::decay_field(&Config::beta1, "beta1",
                                    "Share of the mean in the gradient that gives the signs."),
                 optim::decay_field(&Config::beta2, "beta2", "Decay of the mean of gradients.")},
      optim::group_fields<Config>("Weight decay, times the learning rate."));
};
