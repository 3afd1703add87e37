#include "paceline/nn/unit.h"

namespace paceline::nn {

at::Tensor Unit::run_wrapped(const UnitWrapper::Inputs& inputs, const UnitWrapper::Forward& forward,
                             std::size_t num_wrappers) const {
  if (num_wrappers == 0) return forward(inputs);
  return wrappers_[num_wrappers - 1]->run(inputs, [=, this](const UnitWrapper::Inputs& inner) {
    return run_wrapped(inner, forward, num_wrappers - 1);
  });
}

std::vector<NamedUnit> units(const torch::nn::Module& module) {
  std::vector<NamedUnit> found;
  for (const auto& item : module.named_modules("", /*include_self=*/false)) {
    if (auto unit = std::dynamic_pointer_cast<Unit>(item.value())) {
      found.push_back({item.key(), std::move(unit)});
    }
  }
  return found;
}

}  // namespace paceline::nn
