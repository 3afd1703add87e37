#include "paceline/parallel/gradient_norm.h"

#include "paceline/base/error.h"

#include <cstdint>

namespace paceline::parallel {
namespace {

constexpr std::int64_t kRun = 1024;

}  // namespace

at::Tensor squares_of_rows(const at::Tensor& rows) {
  const auto dtype = rows.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
  return at::linalg_vector_norm(rows, 2, at::IntArrayRef{1}, /*keepdim=*/false, dtype)
      .to(at::kDouble)
      .square();
}

at::Tensor flat_norm(std::span<const at::Tensor> flats) {
  const at::NoGradGuard no_grad;
  at::Tensor total;
  for (const at::Tensor& flat : flats) {
    const std::int64_t whole = flat.numel() / kRun * kRun;
    at::Tensor sum = squares_of_rows(flat.narrow(0, 0, whole).view({-1, kRun})).sum();
    if (whole < flat.numel()) {
      sum = sum + squares_of_rows(flat.narrow(0, whole, flat.numel() - whole).view({1, -1})).sum();
    }
    total = total.defined() ? total + sum : sum;
  }
  PACELINE_CHECK(total.defined(), "the norm of no tensor");
  return total.sqrt();
}

void scale_to_norm(std::span<const at::Tensor> flats, const at::Tensor& norm, double max_norm) {
  const at::NoGradGuard no_grad;
  at::Tensor factor = at::where(norm.isfinite(), max_norm / (norm + 1e-6), 1.0).clamp_max_(1.0);
  // Where reading costs nothing a pass over all gradients may be saved.
  if (factor.is_cpu() && factor.item<double>() == 1.0) return;
  for (const at::Tensor& flat : flats) flat.mul_(factor);
}

}  // namespace paceline::parallel
