#include "paceline/nn/pixels/depthwise_gradient.h"

#include "paceline/nn/pixels/depthwise_sums.h"
#include "paceline/tensor/aten.h"
#include "paceline/tensor/intra_op.h"

#include <algorithm>

namespace paceline::nn {
namespace {

constexpr std::int64_t kMaxGroups = 16;  // of samples, whose sums are separate until the end

std::pair<at::Tensor, at::Tensor> by_libtorch(const at::Tensor& grad, const at::Tensor& input) {
  const std::int64_t channels = input.size(3);
  const std::int64_t bias_size[] = {channels};
  const at::Tensor weight =
      at::empty({channels, 1, kDepthwiseKernel, kDepthwiseKernel}, input.options());
  const auto grads = at::convolution_backward(
      grad.permute({0, 3, 1, 2}), input.permute({0, 3, 1, 2}), weight, bias_size, /*stride=*/{1, 1},
      /*padding=*/{3, 3}, /*dilation=*/{1, 1}, /*transposed=*/false, /*output_padding=*/{0, 0},
      channels, {false, true, true});
  return {std::get<1>(grads), std::get<2>(grads)};
}

}  // namespace

std::pair<at::Tensor, at::Tensor> depthwise_gradients(const at::Tensor& grad,
                                                      const at::Tensor& input) {
  if (!input.is_cpu() || input.scalar_type() == at::kDouble) return by_libtorch(grad, input);
  const at::Tensor grads = grad.to(at::kFloat).contiguous();
  const at::Tensor inputs = input.to(at::kFloat).contiguous();
  const PixelGrid grid{input.size(0), input.size(1), input.size(2), input.size(3)};
  const std::int64_t group_size =
      std::max<std::int64_t>(1, (grid.samples + kMaxGroups - 1) / kMaxGroups);
  const std::int64_t num_groups = (grid.samples + group_size - 1) / group_size;
  const std::int64_t num_blocks = (grid.channels + depthwise_block() - 1) / depthwise_block();
  const at::Tensor sums = at::empty({num_groups, kDepthwiseSums, grid.channels}, grads.options());
  const std::int64_t sample_size = grid.height * grid.width * grid.channels;
  const auto* const grad_data = grads.const_data_ptr<float>();
  const auto* const input_data = inputs.const_data_ptr<float>();
  auto* const sum_data = sums.mutable_data_ptr<float>();
  tensor::run_intra_op(num_groups * num_blocks, [&](std::int64_t task) {
    const std::int64_t group = task % num_groups;
    const std::int64_t first_sample = group * group_size;
    PixelGrid part = grid;
    part.samples = std::min(group_size, grid.samples - first_sample);
    depthwise_sums(grad_data + first_sample * sample_size, input_data + first_sample * sample_size,
                   part, task / num_groups * depthwise_block(),
                   sum_data + group * kDepthwiseSums * grid.channels);
  });
  const at::Tensor total = sums.sum(0).t().contiguous();  // [C, kDepthwiseSums]
  return {total.slice(1, 0, kDepthwiseSums - 1)
              .reshape({grid.channels, 1, kDepthwiseKernel, kDepthwiseKernel}),
          total.select(1, kDepthwiseSums - 1).contiguous()};
}

}  // namespace paceline::nn
