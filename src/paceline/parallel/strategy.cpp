#include "paceline/parallel/strategy.h"

#include "paceline/base/error.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace paceline::parallel {

std::vector<optim::ParamGroup> empty_groups(std::span<const GroupRule> rules) {
  std::vector<optim::ParamGroup> groups;
  for (const GroupRule& rule : rules) {
    groups.push_back(
        {.name = rule.name, .weight_decay = rule.weight_decay, .lr_scale = rule.lr_scale});
  }
  return groups;
}

void Strategy::end_own_pass() {
  throw base::ConfigError(
      fmt::format("strategy {} reduces gradients as they come: no rank has its own", name()));
}

std::vector<StateShard> Strategy::optimizer_state(optim::Optimizer& optimizer) {
  std::vector<StateShard> shards;
  const auto add = [&](std::vector<StateShard> more) {
    std::ranges::move(more, std::back_inserter(shards));
  };
  for (const optim::SlotState& state : optimizer.state())
    add(cut_by_parameter(fmt::format("optimizer.{}/", state.name), state.tensors));
  add(gradient_state());
  return shards;
}

}  // namespace paceline::parallel
