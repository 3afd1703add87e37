#pragma once

#include "paceline/optim/optimizer.h"
#include "paceline/tensor/element_update.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace paceline::optim {

/// What the scalars of one update of a group are made of.
struct ElementStep {
  double lr = 0;  ///< with the group's lr_scale
  double unscaled_lr = 0;
  double weight_decay = 0;
  std::int64_t number = 1;  ///< from 1 on
  double momentum = 0;      ///< ElementRule::momentum, or what a schedule has made of it

  /// What decay leaves of a parameter (AdamW's decay): a factor of 1 where it is not decoupled.
  double kept(bool is_decoupled) const { return is_decoupled ? 1 - lr * weight_decay : 1; }
  /// How much of the parameter decay adds to the gradient instead (L2).
  double added(bool is_decoupled) const { return is_decoupled ? 0 : weight_decay; }
};

/// An optimizer whose update of an element depends on this element's parameter, gradient and state
/// alone, so that one pass over memory does it. The update's input is the gradient, its values are
/// the parameter and the states.
struct ElementRule {
  struct State {
    std::string name;  ///< as in torch.optim
    double first = 0;
  };

  std::string_view name;  ///< of a literal
  tensor::ElementUpdate update;
  std::vector<State> states = {};
  std::function<std::vector<double>(const ElementStep&)> scalars = {};
  std::optional<double> momentum = {};  ///< or beta1; none: no schedule can change it
};

/// Throws InternalError for slots whose gradient is not laid out like the parameter.
std::unique_ptr<Optimizer> make_elementwise(ElementRule rule, std::vector<ParamGroup> groups);

}  // namespace paceline::optim
