#include <string>
#include <vector>

#include <ATen/ATen.h>
#include <ATen/cuda/jiterator.h>
#include <torch/library.h>

namespace paceline::tensor {
namespace {

/// Arguments without gaps in memory are one row to the GPU whatever their sizes.
at::Tensor in_a_row(const at::Tensor& tensor) {
  return at::as_strided(tensor.detach(), {tensor.numel()}, {1});
}

void update_elements_on_gpu(c10::string_view name, c10::string_view text, const at::Tensor& input,
                            at::TensorList values, at::ArrayRef<double> scalars,
                            const std::optional<at::Tensor>& skip) {
  if (input.numel() == 0) return;
  c10::SmallVector<at::Tensor> arguments{in_a_row(input)};
  for (const at::Tensor& value : values) arguments.push_back(in_a_row(value));
  const c10::SmallVector<at::Scalar> numbers(scalars.begin(), scalars.end());
  const auto results = at::cuda::CompileAndLaunchKernel(
      std::string(text), std::string(name), static_cast<int>(values.size()), arguments, numbers,
      /*return_by_ref=*/true);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const at::Tensor& value = arguments[i + 1];
    value.copy_(skip ? at::where(skip->ne(0), value, results[i]) : results[i]);
  }
}

TORCH_LIBRARY_IMPL(paceline, CUDA, library) {
  library.impl("update_elements", &update_elements_on_gpu);
}

}  // namespace
}  // namespace paceline::tensor
