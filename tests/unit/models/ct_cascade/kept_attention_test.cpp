#include "paceline/models/ct_cascade/kept_attention.h"

#include "paceline/nn/attention/attention_kernel.h"
#include "paceline/tensor/torch.h"
#include "unit/models/ct_cascade/block_inputs.h"

#include <array>

#include <gtest/gtest.h>

namespace paceline::models {
namespace {

/// Two samples of two heads, 3 queries and 5 keys.
AttentionInputs attention_inputs() {
  return {denoiser_numbers({2, 2, 3, 4}, 0), denoiser_numbers({2, 2, 5, 4}, 1),
          denoiser_numbers({2, 2, 5, 4}, 2)};
}

TEST(KeptAttention, GivesAutogradsGradients) {
  AttentionInputs leaves = attention_inputs();
  for (at::Tensor& leaf : leaves) leaf.set_requires_grad(true);
  const at::Tensor wanted = at::scaled_dot_product_attention(leaves[0], leaves[1], leaves[2]);
  const at::Tensor grad = denoiser_numbers({2, 2, 3, 4}, 3);
  wanted.backward(grad);

  const AttentionInputs inputs = attention_inputs();
  std::array<at::Tensor, kNumKeptOfAttention> kept;
  const std::int64_t kernel = attend(inputs, kept.data());
  EXPECT_TRUE(kept[0].allclose(wanted, 1e-12, 1e-12));
  const auto gradients = attention_backward(grad, inputs, kernel, kept.data());
  ASSERT_EQ(gradients.size(), 3U);
  for (std::size_t i = 0; i < 3; ++i)
    EXPECT_TRUE(gradients[i].allclose(leaves[i].grad(), 1e-11, 1e-12)) << i;

  // Where there is no kernel, the weights are kept.
  const at::Tensor scores = at::matmul(inputs[0], inputs[1].transpose(2, 3)) / 2;
  kept = {kept[0], at::softmax(scores, -1), {}, {}};
  const auto plain = attention_backward(
      grad, inputs, static_cast<std::int64_t>(nn::AttentionKernel::kNone), kept.data());
  for (std::size_t i = 0; i < 3; ++i)
    EXPECT_TRUE(plain[i].allclose(leaves[i].grad(), 1e-11, 1e-12)) << i;
}

}  // namespace
}  // namespace paceline::models
