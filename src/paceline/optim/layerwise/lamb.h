#pragma once

#include "paceline/optim/config_fields.h"
#include "paceline/optim/optimizer.h"
#include "paceline/optim/optimizer_plan.h"

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

namespace paceline::optim {

struct LambConfig {
  double lr = 1e-3;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double eps = 1e-6;
  bool bias_correction = true;
  bool grad_averaging = true;
  std::optional<double> max_grad_norm = 1.0;
  bool trust_clip = false;
  bool always_adapt = false;
  bool decoupled_decay = false;
  double weight_decay = 0.01;
  bool decay_norm_and_bias = false;
  std::vector<std::string> no_decay = embedding_names();
  std::map<std::string, double> lr_scale = {};
  std::map<std::string, double> decay_scale = {};
  double layer_decay = 1.0;
};

/// You et al., "Large batch optimization for deep learning: training BERT in 76 minutes", 2020, as
/// timm's Lamb: a parameter's step has the length of the parameter times the learning rate.
std::unique_ptr<Optimizer> make_optimizer(const LambConfig& config, std::vector<ParamGroup> groups,
                                          const ParameterShards& shards = {});
std::unique_ptr<OptimizerPlan> make(const LambConfig& config);

}  // namespace paceline::optim

template <>
struct paceline::config::Schema<paceline::optim::LambConfig> {
  using Config = paceline::optim::LambConfig;
  static constexpr std::string_view name = "lamb";
  static constexpr std::string_view summary =
      "Adam whose step is as long as each parameter, for large batches.";
  static constexpr std::string_view paper = "You et al., ICLR 2020";
  static constexpr auto fields = std::tuple_cat(
      optim::adam_fields<Config>(),
      std::tuple{
          field(&Config::bias_correction, "bias_correction",
                "Make up for means that begin at 0, as Adam does."),
          field(&Config::grad_averaging, "grad_averaging",
                "Weigh the gradient by 1 - beta1 in its mean; else by 1."),
          field(&Config::max_grad_norm, "max_grad_norm",
                "Largest norm of all gradients together, within the optimizer; null: none, as "
                "train.grad_clip_norm may see to it.",
                MoreThan{0.0}, AtMost{1e30, "float32 ends at 3e38"}, MayChangeOnResume{}),
          field(&Config::trust_clip, "trust_clip", "No parameter's ratio is above 1 (LAMBC).",
                MayChangeOnResume{}),
          field(&Config::always_adapt, "always_adapt",
                "Scale the steps of parameters without weight decay, too.", MayChangeOnResume{}),
          field(&Config::decoupled_decay, "decoupled_decay",
                "Shrink the parameters by the decay, as AdamW does, beside the scaled step.",
                MayChangeOnResume{})},
      optim::group_fields<Config>("Weight decay, added to the step before it is scaled."));
};
