#pragma once

#include "paceline/config/schema.h"
#include "paceline/optim/optimizer.h"
#include "paceline/optim/optimizer_plan.h"

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

namespace paceline::optim {

struct NewPartConfig {
  double lr = 0.1;
  double momentum = 0.9;
  double weight_decay = 1e-4;
  bool decay_norm_and_bias = false;
  std::vector<std::string> no_decay = {};
  std::map<std::string, double> lr_scale = {};
  std::map<std::string, double> decay_scale = {};
  double layer_decay = 1.0;
};

/// Gradient descent with momentum: say here what the update is, and name the paper. The groups' own
/// weight_decay is what counts.
std::unique_ptr<Optimizer> make_optimizer(const NewPartConfig& config,
                                          std::vector<ParamGroup> groups);

std::unique_ptr<OptimizerPlan> make(const NewPartConfig& config);

}  // namespace paceline::optim

template <>
struct paceline::config::Schema<paceline::optim::NewPartConfig> {
  using Config = paceline::optim::NewPartConfig;
  static constexpr std::string_view name = "new_part";
  static constexpr std::string_view summary = "Says in one sentence how it updates.";
  static constexpr auto fields = std::tuple{
      field(&Config::lr, "lr", "Base learning rate.", AtLeast{0.0},
            AtMost{1e6, "no weights survive a step"}, MayChangeOnResume{}),
      field(&Config::momentum, "momentum", "Momentum factor.", InRange{0.0, 1.0}),
      field(&Config::weight_decay, "weight_decay", "Weight decay, added to the gradient.",
            AtLeast{0.0}, AtMost{1000, "no weights survive a step"}, MayChangeOnResume{}),
      field(&Config::decay_norm_and_bias, "decay_norm_and_bias", "Decay norms and biases too."),
      field(&Config::no_decay, "no_decay", "Last names of further parameters without decay."),
      field(&Config::lr_scale, "lr_scale", "Factors on the learning rate by part.", AtLeast{0.0},
            AtMost{1e6, "no weights survive a step"}, MayChangeOnResume{}),
      field(&Config::layer_decay, "layer_decay", "A block's learning rate over the next one's.",
            MoreThan{0.0}, AtMost{1}, MayChangeOnResume{})};
};
