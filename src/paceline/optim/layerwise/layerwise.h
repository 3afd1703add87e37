#pragma once

#include "paceline/optim/elementwise.h"

#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

namespace paceline::optim {

/// Euclidean norms of whole parameters: float64 tensors [parameters], beside the parameters.
struct LayerNorms {
  at::Tensor param;
  at::Tensor direction;  ///< or of the gradient, by LayerRule::measures_gradient
};

/// The ratio, and 1 where either norm is 0.
at::Tensor or_one(const at::Tensor& ratio, const LayerNorms& norms);

/// An optimizer that scales each parameter's step by a ratio of norms (LARS, LAMB): two passes over
/// elements with the norms in between, which are summed over the ranks that share a parameter.
struct LayerRule {
  std::string_view name;  ///< of a literal
  std::vector<ElementRule::State> states;

  /// Of the input `param`: the first states' new values, then the direction, which is the gradient
  /// before.
  tensor::ElementUpdate direction;
  std::size_t num_direction_states = 0;
  std::function<std::vector<double>(const ElementStep&)> direction_scalars;
  /// Of the input `direction`, which the ratio has multiplied: the parameter and the states that
  /// are left.
  tensor::ElementUpdate apply;
  std::function<std::vector<double>(const ElementStep&)> apply_scalars;

  /// What multiplies each parameter's direction, [parameters].
  std::function<at::Tensor(const LayerNorms&, const ElementStep&)> ratio;
  bool measures_gradient = false;
  bool always_adapts = false;  ///< else only groups with weight decay have a ratio other than 1
  std::optional<double> max_grad_norm = {};  ///< of all parameters together
  std::optional<double> momentum = {};       ///< as ElementRule's
};

/// Throws InternalError for slots whose gradient is not laid out like the parameter.
std::unique_ptr<Optimizer> make_layerwise(LayerRule rule, std::vector<ParamGroup> groups,
                                          const ParameterShards& shards);

}  // namespace paceline::optim
