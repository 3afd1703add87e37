#include "paceline/optim/param_groups.h"

#include "paceline/base/error.h"
#include "paceline/tensor/aten.h"

#include <algorithm>
#include <utility>

namespace paceline::optim {

std::vector<GroupRule> weight_decay_rules(double weight_decay, bool decay_norm_and_bias,
                                          std::span<const std::string> no_decay_names) {
  std::vector<GroupRule> rules;
  std::vector<std::string> listed(no_decay_names.begin(), no_decay_names.end());
  rules.push_back({.name = "no_decay",
                   .weight_decay = 0.0,
                   .matches = [decay_norm_and_bias, listed = std::move(listed)](
                                  const std::string& name, const at::Tensor& parameter) {
                     if (!decay_norm_and_bias && parameter.dim() <= 1) return true;
                     const std::string last = name.substr(name.rfind('.') + 1);
                     return std::ranges::find(listed, last) != listed.end();
                   }});
  rules.push_back({.name = "decay",
                   .weight_decay = weight_decay,
                   .matches = [](const std::string&, const at::Tensor&) { return true; }});
  return rules;
}

std::vector<GroupRule> scale_learning_rates(std::span<const GroupRule> rules,
                                            std::span<const LrScale> scales) {
  std::vector<GroupRule> scaled;
  for (const LrScale& scale : scales) {
    for (const GroupRule& rule : rules) {
      scaled.push_back(
          {.name = fmt::format("{} of {}", rule.name, scale.name),
           .weight_decay = rule.weight_decay,
           .lr_scale = rule.lr_scale * scale.factor,
           .matches = [rule, scale](const std::string& name, const at::Tensor& tensor) {
             return scale.matches(name) && rule.matches(name, tensor);
           }});
    }
  }
  scaled.insert(scaled.end(), rules.begin(), rules.end());
  return scaled;
}

std::size_t match_rule(std::span<const GroupRule> rules, const std::string& name,
                       const at::Tensor& parameter) {
  for (std::size_t i = 0; i < rules.size(); ++i) {
    if (rules[i].matches(name, parameter)) return i;
  }
  throw base::ConfigError(fmt::format(
      "no parameter group takes '{}'; add a last group that matches every parameter", name));
}

}  // namespace paceline::optim
