#include "paceline/base/philox.h"
#include "paceline/tensor/draw_code.h"

#include <cstdint>
#include <limits>
#include <string>

#include <ATen/ATen.h>
#include <ATen/cuda/jiterator.h>
#include <torch/library.h>

namespace paceline::tensor {
namespace {

std::int64_t key_bits(std::int64_t seed, std::int64_t purpose) {
  const base::Philox stream(static_cast<std::uint64_t>(seed),
                            static_cast<base::DrawPurpose>(purpose), 0, 0);
  const base::Philox::Counter counter = stream.counter(0);
  return static_cast<std::int64_t>(std::uint64_t{counter.key1} << 32 | counter.key0);
}

at::Tensor normal_samples_on_gpu(const at::Tensor& like, std::int64_t seed, std::int64_t purpose,
                                 std::int64_t group, std::int64_t first_position) {
  if (like.numel() == 0) return at::empty(like.sizes(), like.options());
  static const std::string code = std::string(kPhiloxCode) + "\n" + kRoundedArithmeticCode +
                                  kNormalCode + "\n" + kNormalElementCode;
  const bool is_small = like.numel() <= std::numeric_limits<std::int32_t>::max();
  const at::ScalarType dtype = is_small ? at::kInt : at::kLong;
  const at::Tensor elements = at::arange(like.numel(), like.options().dtype(dtype));
  const at::Tensor bits =
      at::cuda::CompileAndLaunchKernel(
          code, "normal_element", /*num_outputs=*/1, {elements},
          {like.numel() / like.size(0), key_bits(seed, purpose), group, first_position},
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
                                       {key_bits(seed, purpose), group, first_position},
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
