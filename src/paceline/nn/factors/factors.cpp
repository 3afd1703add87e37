#include "paceline/nn/factors/factors.h"

#include "paceline/base/error.h"
#include "paceline/tensor/aten.h"
#include "paceline/tensor/storage.h"

#include <algorithm>
#include <tuple>
#include <vector>

namespace paceline::nn {

bool is_of_first_factor(std::string_view name) {
  while (!name.empty()) {
    const std::size_t end = name.find('.');
    if (name.substr(0, end) == kToLatent) return true;
    name = end == std::string_view::npos ? "" : name.substr(end + 1);
  }
  return false;
}

at::Tensor parameter_beside(const at::Tensor& weight, std::span<const std::int64_t> sizes) {
  const auto order =
      sizes.size() == 4 ? weight.suggest_memory_format() : at::MemoryFormat::Contiguous;
  at::Tensor parameter =
      at::empty(at::IntArrayRef(sizes.data(), sizes.size()), weight.options(), order);
  tensor::free_memory(parameter);
  return parameter.set_requires_grad(weight.requires_grad());
}

Factors nearest_factors(const at::Tensor& weight, std::int64_t latent) {
  const at::NoGradGuard no_grad;
  const at::Tensor matrix = weight.detach().to(at::kCPU, at::kDouble).flatten(1);
  PACELINE_CHECK(latent <= std::min(matrix.size(0), matrix.size(1)), "{} numbers between {} and {}",
                 latent, matrix.size(1), matrix.size(0));
  const auto [left, values, right] = at::linalg_svd(matrix, /*full_matrices=*/false);
  const at::Tensor roots = values.narrow(0, 0, latent).sqrt();
  std::vector<std::int64_t> first = weight.sizes().vec();
  first.front() = latent;
  std::vector<std::int64_t> second(first.size(), 1);
  second.at(0) = weight.size(0);
  second.at(1) = latent;
  return {(right.narrow(0, 0, latent) * roots.unsqueeze(1)).reshape(first),
          (left.narrow(1, 0, latent) * roots).reshape(second)};
}

}  // namespace paceline::nn
