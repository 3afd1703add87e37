#include "paceline/nn/attention/attention_kernel.h"

#include "paceline/base/error.h"
#include "paceline/tensor/torch.h"

#include <gtest/gtest.h>

namespace paceline::nn {
namespace {

at::Tensor tokens_of(double phase) {
  return (at::arange(2 * 3 * 17 * 8, at::kDouble) * 0.7 + phase).sin().view({2, 3, 17, 8});
}

TEST(AttentionKernel, EqualsScaledDotProductAttentionAndItsGradients) {
  std::vector<at::Tensor> inputs{tokens_of(0), tokens_of(1), tokens_of(2)};
  for (at::Tensor& input : inputs) input.requires_grad_();
  const at::Tensor grad = tokens_of(3);
  const at::Tensor wanted = at::scaled_dot_product_attention(inputs[0], inputs[1], inputs[2]);
  wanted.backward(grad);

  const at::NoGradGuard no_grad;
  const AttentionKernel kernel = attention_kernel(inputs[0], inputs[1], inputs[2]);
  EXPECT_EQ(kernel, AttentionKernel::kFlash);
  const KernelAttention found = kernel_attention(kernel, inputs[0], inputs[1], inputs[2]);
  EXPECT_TRUE(at::allclose(found.mixed, wanted, 1e-12, 1e-12));
  const auto grads =
      kernel_attention_backward(kernel, grad, inputs[0], inputs[1], inputs[2], found);
  EXPECT_TRUE(at::allclose(std::get<0>(grads), inputs[0].grad(), 1e-12, 1e-12));
  EXPECT_TRUE(at::allclose(std::get<1>(grads), inputs[1].grad(), 1e-12, 1e-12));
  EXPECT_TRUE(at::allclose(std::get<2>(grads), inputs[2].grad(), 1e-12, 1e-12));
}

TEST(AttentionKernel, NoneComputesNothing) {
  const at::Tensor tokens = tokens_of(0);
  EXPECT_THROW(kernel_attention(AttentionKernel::kNone, tokens, tokens, tokens),
               base::InternalError);
}

}  // namespace
}  // namespace paceline::nn
