#pragma once

#include "paceline/nn/losses.h"
#include "support/small_net.h"

#include <gtest/gtest.h>

namespace paceline::test {

/// Logits [3, 4] that want gradients.
inline at::Tensor three_logits(at::ScalarType dtype = at::kDouble) {
  return (3 * wave({3, 4}, 2)).to(dtype).requires_grad_();
}

/// Expects that an index of -100 has no loss and no gradient, and changes those of no other sample.
inline void expect_ignores_minus_100(const nn::Loss& loss) {
  const at::Tensor whole = loss.per_sample(three_logits(), at::tensor({1, 0, 3}, at::kLong));
  const at::Tensor logits = three_logits();
  const at::Tensor masked = loss.per_sample(logits, at::tensor({1, -100, 3}, at::kLong));
  EXPECT_EQ(masked[1].item<double>(), 0);
  EXPECT_TRUE(masked[0].equal(whole[0]) && masked[2].equal(whole[2]));
  masked.sum().backward();
  EXPECT_EQ(logits.grad()[1].abs().max().item<double>(), 0);
}

/// Expects that a one-hot row is its index, that narrow logits have a loss in float32, and that
/// nothing of it depends on the batch.
inline void expect_takes_both_targets(const nn::Loss& loss) {
  const at::Tensor indices = at::tensor({1, 0, 3}, at::kLong);
  const at::Tensor one_hot = at::one_hot(indices, 4);
  EXPECT_TRUE(loss.takes_probabilities());
  EXPECT_TRUE(loss.per_sample(three_logits(), one_hot.to(at::kDouble))
                  .allclose(loss.per_sample(three_logits(), indices), 1e-14, 1e-14));
  const at::Tensor narrow = three_logits(at::kBFloat16);
  const at::Tensor losses = loss.per_sample(narrow, one_hot.to(at::kFloat));
  EXPECT_EQ(losses.scalar_type(), at::kFloat);
  EXPECT_TRUE(losses.equal(loss.per_sample(narrow.to(at::kFloat), one_hot.to(at::kFloat))));
  EXPECT_EQ(loss.sum(three_logits().narrow(0, 0, 0), indices.narrow(0, 0, 0)).item<double>(), 0);
}

}  // namespace paceline::test
