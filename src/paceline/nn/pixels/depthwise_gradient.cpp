#include "paceline/nn/pixels/depthwise_gradient.h"

#include "paceline/tensor/aten.h"
#include "paceline/tensor/intra_op.h"

#include <algorithm>

namespace paceline::nn {
namespace {

constexpr std::int64_t kMaxGroups = 16;  // of samples, whose sums are separate until the end
constexpr std::int64_t kThreadedProducts = 1 << 20;  // products, below which waking threads is dear

std::pair<at::Tensor, at::Tensor> by_libtorch(const at::Tensor& grad, const at::Tensor& input,
                                              const DepthwiseKernel& kernel) {
  const std::int64_t channels = input.size(3);
  const std::int64_t bias_size[] = {channels};
  const at::Tensor weight = at::empty({channels, 1, kernel.size, kernel.size}, input.options());
  const std::int64_t padding = (kernel.size - 1) / 2;
  const auto grads = at::convolution_backward(
      grad.permute({0, 3, 1, 2}), input.permute({0, 3, 1, 2}), weight, bias_size,
      {kernel.stride, kernel.stride}, {padding, padding}, /*dilation=*/{1, 1}, /*transposed=*/false,
      /*output_padding=*/{0, 0}, channels, {false, true, true});
  return {std::get<1>(grads), std::get<2>(grads)};
}

}  // namespace

std::pair<at::Tensor, at::Tensor> depthwise_gradients(const at::Tensor& grad,
                                                      const at::Tensor& input,
                                                      const DepthwiseKernel& kernel) {
  if (!input.is_cpu() || input.scalar_type() == at::kDouble)
    return by_libtorch(grad, input, kernel);
  const at::Tensor grads = grad.to(at::kFloat).contiguous();
  const at::Tensor inputs = input.to(at::kFloat).contiguous();
  const PixelGrid grid{input.size(0), input.size(1), input.size(2), input.size(3)};
  const std::int64_t group_size =
      std::max<std::int64_t>(1, (grid.samples + kMaxGroups - 1) / kMaxGroups);
  const std::int64_t num_groups = (grid.samples + group_size - 1) / group_size;
  const std::int64_t num_blocks = (grid.channels + depthwise_block() - 1) / depthwise_block();
  const at::Tensor sums =
      at::empty({num_groups, kernel.num_sums(), grid.channels}, grads.options());
  const std::int64_t sample_size = grid.height * grid.width * grid.channels;
  const std::int64_t grad_size = grads.size(1) * grads.size(2) * grid.channels;
  const auto* const grad_data = grads.const_data_ptr<float>();
  const auto* const input_data = inputs.const_data_ptr<float>();
  auto* const sum_data = sums.mutable_data_ptr<float>();
  const auto run = [&](std::int64_t task) {
    const std::int64_t group = task % num_groups;
    const std::int64_t first_sample = group * group_size;
    PixelGrid part = grid;
    part.samples = std::min(group_size, grid.samples - first_sample);
    depthwise_sums(grad_data + first_sample * grad_size, input_data + first_sample * sample_size,
                   part, kernel, task / num_groups * depthwise_block(),
                   sum_data + group * kernel.num_sums() * grid.channels);
  };
  const std::int64_t num_tasks = num_groups * num_blocks;
  if (grads.numel() * kernel.num_sums() >= kThreadedProducts) {
    tensor::run_intra_op(num_tasks, run);
  } else {
    for (std::int64_t task = 0; task < num_tasks; ++task) run(task);
  }
  const at::Tensor total = sums.sum(0).t();  // [C, num_sums]
  const std::int64_t num_weights = kernel.num_sums() - 1;
  return {total.slice(1, 0, num_weights)
              .contiguous()
              .view({grid.channels, 1, kernel.size, kernel.size}),
          total.select(1, num_weights).contiguous()};
}

}  // namespace paceline::nn
