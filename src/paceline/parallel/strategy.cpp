#include "paceline/parallel/strategy.h"

#include "paceline/base/error.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace paceline::parallel {

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
