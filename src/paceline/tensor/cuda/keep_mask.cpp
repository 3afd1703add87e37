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

at::Tensor keep_mask_on_gpu(const at::Tensor& like, double keep, std::int64_t seed,
                            std::int64_t purpose, std::int64_t group, std::int64_t first_position) {
  if (like.numel() == 0) return at::empty_like(like);
  static const std::string code = std::string(kPhiloxCode) + "\n" + kKeepElementCode;
  const base::Philox stream(static_cast<std::uint64_t>(seed),
                            static_cast<base::DrawPurpose>(purpose),
                            static_cast<std::uint64_t>(group), 0);
  const base::Philox::Counter counter = stream.counter(0);
  const auto key = static_cast<std::int64_t>(std::uint64_t{counter.key1} << 32 | counter.key0);
  const bool is_small = like.numel() <= std::numeric_limits<std::int32_t>::max();
  const at::ScalarType dtype = is_small ? at::kInt : at::kLong;
  const at::Tensor elements = at::arange(like.numel(), like.options().dtype(dtype));
  const at::Tensor mask = at::cuda::CompileAndLaunchKernel(
                              code, "keep_element", /*num_outputs=*/1, {elements},
                              {like.numel() / like.size(0), key, group, first_position, keep},
                              /*return_by_ref=*/false)
                              .front();
  return mask.to(like.scalar_type()).view(like.sizes());
}

TORCH_LIBRARY_IMPL(paceline, CUDA, library) { library.impl("keep_mask", &keep_mask_on_gpu); }

}  // namespace
}  // namespace paceline::tensor
