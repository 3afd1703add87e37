#include "paceline/optim/param_groups.h"

#include "paceline/base/error.h"
#include "paceline/tensor/aten.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include <fnmatch.h>

namespace paceline::optim {
namespace {

/// By its last name, or by a pattern of the whole name.
bool is_listed(std::span<const std::string> entries, const std::string& name) {
  const std::string last = name.substr(name.rfind('.') + 1);
  return std::ranges::any_of(entries, [&](const std::string& entry) {
    return entry == last || ::fnmatch(entry.c_str(), name.c_str(), 0) == 0;
  });
}

/// The entries, with what some of them stand for besides.
std::vector<std::string> with_kin(std::span<const std::string> entries) {
  static const std::map<std::string, std::vector<std::string>> kin{
      {"cls_token", {"dist_token", "reg_token"}}, {"head.weight", {"head_dist.weight"}}};
  std::vector<std::string> all(entries.begin(), entries.end());
  for (const std::string& entry : entries) {
    if (const auto found = kin.find(entry); found != kin.end())
      all.insert(all.end(), found->second.begin(), found->second.end());
  }
  return all;
}

/// Each part's parameters in groups of their own, changed by the part's factor.
std::vector<GroupRule> scale_parts(
    std::span<const GroupRule> rules, std::span<const PartScale> scales,
    const std::function<void(GroupRule& rule, double factor)>& change) {
  std::vector<GroupRule> scaled;
  for (const PartScale& scale : scales) {
    for (const GroupRule& rule : rules) {
      GroupRule own = rule;
      own.name = fmt::format("{} of {}", rule.name, scale.name);
      own.matches = [rule, scale](const std::string& name, const at::Tensor& tensor) {
        return scale.matches(name) && rule.matches(name, tensor);
      };
      change(own, scale.factor);
      scaled.push_back(std::move(own));
    }
  }
  scaled.insert(scaled.end(), rules.begin(), rules.end());
  return scaled;
}

}  // namespace

std::vector<std::string> embedding_names() { return {"pos_embed", "cls_token"}; }

std::vector<GroupRule> weight_decay_rules(double weight_decay, bool decay_norm_and_bias,
                                          std::span<const std::string> no_decay_names) {
  std::vector<GroupRule> rules;
  std::vector<std::string> listed = with_kin(no_decay_names);
  rules.push_back({.name = "no_decay",
                   .weight_decay = 0.0,
                   .matches = [decay_norm_and_bias, listed = std::move(listed)](
                                  const std::string& name, const at::Tensor& parameter) {
                     if (!decay_norm_and_bias && parameter.dim() <= 1) return true;
                     return is_listed(listed, name);
                   }});
  rules.push_back({.name = "decay",
                   .weight_decay = weight_decay,
                   .matches = [](const std::string&, const at::Tensor&) { return true; }});
  return rules;
}

std::vector<GroupRule> matrix_rules(std::span<const GroupRule> rules,
                                    std::span<const std::string> no_matrices) {
  const std::vector<std::string> listed = with_kin(no_matrices);
  std::vector<GroupRule> divided;
  for (const GroupRule& rule : rules) {
    divided.push_back({.name = fmt::format("{} of matrices", rule.name),
                       .weight_decay = rule.weight_decay,
                       .lr_scale = rule.lr_scale,
                       .matches =
                           [rule, listed](const std::string& name, const at::Tensor& tensor) {
                             return tensor.dim() >= 2 && !is_listed(listed, name) &&
                                    rule.matches(name, tensor);
                           },
                       .is_matrix = true});
  }
  divided.insert(divided.end(), rules.begin(), rules.end());
  return divided;
}

std::vector<PartScale> layer_scales(double decay,
                                    std::span<const std::vector<std::string>> layers) {
  std::vector<PartScale> scales;
  auto distance = static_cast<double>(layers.size());
  for (const std::vector<std::string>& layer : layers) {
    distance -= 1;
    for (const std::string& prefix : layer) {
      scales.push_back({prefix, std::pow(decay, distance), [prefix](const std::string& name) {
                          return name == prefix || name.starts_with(prefix + '.');
                        }});
    }
  }
  scales.push_back({"what lies in no layer", decay, [](const std::string&) { return true; }});
  return scales;
}

std::vector<GroupRule> scale_learning_rates(std::span<const GroupRule> rules,
                                            std::span<const PartScale> scales) {
  return scale_parts(rules, scales,
                     [](GroupRule& rule, double factor) { rule.lr_scale *= factor; });
}

std::vector<GroupRule> scale_weight_decays(std::span<const GroupRule> rules,
                                           std::span<const PartScale> scales) {
  return scale_parts(rules, scales,
                     [](GroupRule& rule, double factor) { rule.weight_decay *= factor; });
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
