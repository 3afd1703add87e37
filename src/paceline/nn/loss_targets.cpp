#include "paceline/nn/loss_targets.h"

#include "paceline/base/error.h"

#include <fmt/format.h>

namespace paceline::nn {

at::ScalarType loss_dtype(const at::Tensor& outputs) {
  return c10::promoteTypes(outputs.scalar_type(), at::kFloat);
}

at::Tensor as_probabilities(const at::Tensor& targets, std::int64_t num_classes,
                            at::ScalarType dtype) {
  if (targets.is_floating_point()) return targets.to(dtype);
  if (targets.is_cpu() && targets.ge(num_classes).any().item<bool>())
    throw base::DataError(fmt::format("a sample has label {}, and the model has {} classes, from 0",
                                      targets.max().item<std::int64_t>(), num_classes));
  const at::Tensor classes = at::arange(num_classes, targets.options());
  return (targets.unsqueeze(1) == classes).to(dtype);
}

at::Tensor smoothed(const at::Tensor& probabilities, double share) {
  if (share == 0) return probabilities;
  constexpr double kRounding = 1e-3;  // of a row in any type; what adds up to 1 does so exactly
  const at::Tensor sums = probabilities.sum(1, /*keepdim=*/true);
  const at::Tensor wholes = at::where((sums - 1.0).abs() < kRounding, at::ones_like(sums), sums);
  return probabilities * (1.0 - share) +
         wholes * (share / static_cast<double>(probabilities.size(1)));
}

at::Tensor of_counted(const at::Tensor& values, const at::Tensor& targets) {
  if (targets.is_floating_point()) return values;
  return values.masked_fill(targets < 0, 0.0);
}

}  // namespace paceline::nn
