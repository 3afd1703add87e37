#include "paceline/app/assembly/factor_values.h"

#include "paceline/base/error.h"
#include "paceline/nn/factors/factors.h"
#include "paceline/nn/module_tree.h"
#include "paceline/tensor/torch.h"

#include <algorithm>
#include <limits>

namespace paceline::app {
namespace {

constexpr std::string_view kWeight = ".weight";

const void* identity(const at::Tensor& tensor) { return tensor.unsafeGetTensorImpl(); }

}  // namespace

std::vector<FactoredWeight> factored_weights(const nn::Network& network,
                                             const TensorOrigins& origins) {
  const std::string ending = fmt::format(".{}{}", nn::kToLatent, kWeight);
  const std::vector<nn::NamedTensor> parameters = nn::named_parameters(network);
  std::vector<FactoredWeight> weights;
  for (const nn::NamedTensor& first : parameters) {
    if (!first.name.ends_with(ending) || origins.find(first.tensor) != nullptr) continue;
    const std::string name =
        first.name.substr(0, first.name.size() - ending.size()) + std::string(kWeight);
    const auto second = std::ranges::find(parameters, name, &nn::NamedTensor::name);
    const auto whole = std::ranges::find(origins.tensors(), name, &nn::NamedTensor::name);
    PACELINE_CHECK(second != parameters.end() && whole != origins.tensors().end(),
                   "{} is a factor of nothing", first.name);
    weights.push_back({*whole, origins.find(whole->tensor)->number, first, *second});
  }
  return weights;
}

const FactoredWeight* FactorValues::find(const at::Tensor& parameter) const {
  const auto found = std::ranges::find_if(weights_, [&](const FactoredWeight& weight) {
    return parameter.is_same(weight.first.tensor) || parameter.is_same(weight.second.tensor);
  });
  return found == weights_.end() ? nullptr : &*found;
}

bool FactorValues::is_stored(std::string_view whole) const {
  return std::ranges::any_of(weights_, [&](const FactoredWeight& weight) {
    return weight.is_stored && weight.whole.name == whole;
  });
}

void FactorValues::fill(const FactoredWeight& weight, const at::Tensor& factor,
                        const FillWhole& fill_whole) {
  const at::NoGradGuard no_grad;
  const bool is_first = factor.is_same(weight.first.tensor);
  if (const auto kept = kept_.extract(identity(factor)); !kept.empty()) {
    factor.copy_(kept.mapped());
    return;
  }
  const at::Tensor& replaced = weight.whole.tensor;
  const at::Tensor whole = at::empty(replaced.sizes(), replaced.scalar_type());
  fill_whole(weight, whole);
  if (!whole.isfinite().all().item<bool>()) {
    factor.fill_(std::numeric_limits<double>::quiet_NaN());  // is refused as any such weight
    return;
  }
  const nn::Factors factors = nn::nearest_factors(whole, weight.first.tensor.size(0));
  factor.copy_(is_first ? factors.first : factors.second);
  const at::Tensor& other = (is_first ? weight.second : weight.first).tensor;
  kept_.emplace(identity(other), is_first ? factors.second : factors.first);
}

}  // namespace paceline::app
