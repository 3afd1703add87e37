#pragma once

#include "paceline/app/assembly/initial_values.h"
#include "paceline/nn/network.h"
#include "paceline/tensor/fwd.h"

#include <cstdint>
#include <functional>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

namespace paceline::app {

/// A weight in whose place an algorithm put two factors (nn/factors/factors.h).
struct FactoredWeight {
  nn::NamedTensor whole;     ///< as it was, under its name, without values
  std::uint64_t number = 0;  ///< of the whole, as TensorOrigins counts
  nn::NamedTensor first;
  nn::NamedTensor second;
  bool is_stored = false;  ///< model.pretrained has the factors, not the whole
};

/// Those of a network, which was `origins`.
std::vector<FactoredWeight> factored_weights(const nn::Network& network,
                                             const TensorOrigins& origins);

/// First values of factors that have none: those whose product is nearest to the whole weight's.
class FactorValues {
 public:
  /// Gives a whole weight, on the host, the values that it would have started from.
  using FillWhole = std::function<void(const FactoredWeight& weight, const at::Tensor& whole)>;

  explicit FactorValues(std::vector<FactoredWeight> weights) : weights_(std::move(weights)) {}

  const std::vector<FactoredWeight>& weights() const { return weights_; }
  /// nullptr if it is no factor.
  const FactoredWeight* find(const at::Tensor& parameter) const;
  /// Whether model.pretrained has factors for the weight of this name.
  bool is_stored(std::string_view whole) const;
  /// Fills one of the factors of `weight`. The other one's values are kept until they are asked
  /// for, so a whole weight is filled once.
  void fill(const FactoredWeight& weight, const at::Tensor& factor, const FillWhole& fill_whole);

 private:
  std::vector<FactoredWeight> weights_;
  std::map<const void*, at::Tensor> kept_;  ///< by the factor whose values they are
};

}  // namespace paceline::app
