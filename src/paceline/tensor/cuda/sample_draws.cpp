#include "paceline/tensor/draw_code.h"

#include <cstdint>
#include <string>

#include <ATen/ATen.h>
#include <ATen/cuda/jiterator.h>
#include <torch/library.h>

namespace paceline::tensor {
namespace {

std::int64_t key_of(std::int64_t seed, std::int64_t purpose) {
  return bits_of_key(static_cast<std::uint64_t>(seed), static_cast<base::DrawPurpose>(purpose));
}

at::Tensor normal_samples_on_gpu(const at::Tensor& like, std::int64_t seed, std::int64_t purpose,
                                 std::int64_t group, std::int64_t first_position) {
  if (like.numel() == 0) return at::empty(like.sizes(), like.options());
  static const std::string code = std::string(kPhiloxCode) + "\n" + kRoundedArithmeticCode +
                                  kNormalCode + "\n" + kNormalElementCode;
  const at::Tensor bits =
      at::cuda::CompileAndLaunchKernel(
          code, "normal_element", /*num_outputs=*/1, {element_numbers(like)},
          {like.numel() / like.size(0), key_of(seed, purpose), group, first_position},
          /*return_by_ref=*/false)
          .front();
  return bits.to(at::kInt).view(at::kFloat).to(like.scalar_type()).view(like.sizes());
}

at::Tensor uniform_samples_on_gpu(const at::Tensor& like, std::int64_t seed, std::int64_t purpose,
                                  std::int64_t group, std::int64_t first_position) {
  const at::Tensor samples = at::arange(like.size(0), like.options().dtype(at::kLong));
  if (samples.numel() == 0) return samples.to(at::kDouble);
  static const std::string code = std::string(kPhiloxCode) + "\n" + kUniformElementCode;
  const at::Tensor bits =
      at::cuda::CompileAndLaunchKernel(code, "uniform_element", /*num_outputs=*/1, {samples},
                                       {key_of(seed, purpose), group, first_position},
                                       /*return_by_ref=*/false)
          .front();
  return bits.to(at::kDouble) * 0x1.0p-53;
}

TORCH_LIBRARY_IMPL(paceline, CUDA, library) {
  library.impl("normal_samples", &normal_samples_on_gpu);
  library.impl("uniform_samples", &uniform_samples_on_gpu);
}

}  // namespace
}  // namespace paceline::tensor
