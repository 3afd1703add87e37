#include "paceline/tensor/draw_code.h"

#include <cstdint>
#include <string>

#include <ATen/ATen.h>
#include <ATen/cuda/jiterator.h>
#include <torch/library.h>

namespace paceline::tensor {
namespace {

at::Tensor keep_mask_on_gpu(const at::Tensor& like, double keep, std::int64_t seed,
                            std::int64_t purpose, std::int64_t group, std::int64_t first_position) {
  if (like.numel() == 0) return at::empty_like(like);
  static const std::string code = std::string(kPhiloxCode) + "\n" + kKeepElementCode;
  const std::int64_t key =
      bits_of_key(static_cast<std::uint64_t>(seed), static_cast<base::DrawPurpose>(purpose));
  const at::Tensor mask = at::cuda::CompileAndLaunchKernel(
                              code, "keep_element", /*num_outputs=*/1, {element_numbers(like)},
                              {like.numel() / like.size(0), key, group, first_position, keep},
                              /*return_by_ref=*/false)
                              .front();
  return mask.to(like.scalar_type()).view(like.sizes());
}

TORCH_LIBRARY_IMPL(paceline, CUDA, library) { library.impl("keep_mask", &keep_mask_on_gpu); }

}  // namespace
}  // namespace paceline::tensor
