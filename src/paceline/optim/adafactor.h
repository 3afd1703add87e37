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

struct AdafactorConfig {
  double lr = 1e-2;
  double beta2_decay = -0.8;
  std::optional<double> eps1 = std::nullopt;
  double eps2 = 1e-3;
  double d = 1.0;
  double weight_decay = 0.0;
  bool decay_norm_and_bias = false;
  std::vector<std::string> no_decay = embedding_names();
  std::map<std::string, double> lr_scale = {};
  std::map<std::string, double> decay_scale = {};
  double layer_decay = 1.0;
};

/// Shazeer and Stern, "Adafactor: adaptive learning rates with sublinear memory cost", ICML 2018,
/// as torch.optim.Adafactor: of what has two or more dimensions it keeps the mean squares of rows
/// and columns (the last two dimensions) instead of each element's.
std::unique_ptr<Optimizer> make_optimizer(const AdafactorConfig& config,
                                          std::vector<ParamGroup> groups,
                                          const ParameterShards& shards = {});
std::unique_ptr<OptimizerPlan> make(const AdafactorConfig& config);

}  // namespace paceline::optim

template <>
struct paceline::config::Schema<paceline::optim::AdafactorConfig> {
  using Config = paceline::optim::AdafactorConfig;
  static constexpr std::string_view name = "adafactor";
  static constexpr std::string_view summary =
      "Adam's adaptive steps by mean squares of rows and columns, which take little memory.";
  static constexpr std::string_view paper = "Shazeer and Stern, ICML 2018";
  static constexpr auto fields = std::tuple_cat(
      std::tuple{
          field(&Config::lr, "lr",
                "Base learning rate, relative to a parameter's size; not above 1 / sqrt(step).",
                AtLeast{0.0}, AtMost{1e06, "no weights survive a step"}, MayChangeOnResume{}),
          field(&Config::beta2_decay, "beta2_decay",
                "Of the new squares step^this counts in the mean.", AtLeast{-10.0}, AtMost{0},
                MayChangeOnResume{}),
          field(&Config::eps1, "eps1",
                "Least root of a mean square; null: the epsilon of the parameter's type.",
                AtLeast{0.0}, AtMost{1, "nothing would be left of a step"}, MayChangeOnResume{}),
          field(&Config::eps2, "eps2", "Least size of a parameter, for the learning rate.",
                AtLeast{0.0}, AtMost{1000, "no weights survive a step"}, MayChangeOnResume{}),
          field(&Config::d, "d", "Largest root mean square of a parameter's step.", AtLeast{1.0},
                AtMost{1e06, "nothing would be clipped"}, MayChangeOnResume{})},
      optim::group_fields<Config>("Weight decay, times the learning rate."));
};
