#include "paceline/parallel/gradient_clipping.h"

#include "paceline/parallel/replicated/replicated_strategy.h"
#include "paceline/tensor/torch.h"
#include "support/small_net.h"

#include <limits>

#include <gtest/gtest.h>

namespace paceline::parallel {
namespace {

class GradientClipping : public testing::Test {
 protected:
  GradientClipping() { strategy_->prepare(net_, optim::weight_decay_rules(0.1, false, {})); }

  void run_backward(double weight = 1.0) {
    strategy_->begin_microbatch(true, true);
    strategy_->backward(paceline::test::summed_loss(net_, 0, 8), weight);
    strategy_->finish_gradients();
  }

  /// All of them, copied.
  at::Tensor gradients() {
    const auto flats = strategy_->gradients();
    return at::cat(std::vector(flats.begin(), flats.end()));
  }

  paceline::test::SmallNet net_;
  std::unique_ptr<ReplicatedStrategy> strategy_ = make_none({});
};

TEST_F(GradientClipping, UnscalesAllGradientsAndFindsAnInfiniteOne) {
  run_backward();
  const at::Tensor expected = gradients();
  run_backward(1024.0);
  EXPECT_FALSE(unscale_gradients(*strategy_, 1.0 / 1024.0).is_nonzero());
  EXPECT_TRUE(at::allclose(gradients(), expected, 1e-12, 1e-14));
  run_backward(std::numeric_limits<double>::infinity());
  EXPECT_TRUE(unscale_gradients(*strategy_, 1.0).is_nonzero());
}

TEST_F(GradientClipping, WorksWhereTheGradientsLie) {
  run_backward();
  const at::Tensor before = gradients();
  const double norm = grad_norm(*strategy_).item<double>();
  EXPECT_DOUBLE_EQ(clip_grad_norm(*strategy_, 2 * norm).item<double>(), norm);
  EXPECT_TRUE(gradients().equal(before));
  EXPECT_DOUBLE_EQ(clip_grad_norm(*strategy_, norm / 4).item<double>(), norm);
  EXPECT_NEAR(grad_norm(*strategy_).item<double>(), norm / 4, 1e-6);
  clip_grad_value(*strategy_, 1e-3);
  EXPECT_EQ(gradients().abs().max().item<double>(), 1e-3);
  EXPECT_TRUE(gradients().sign().equal(before.sign()));
}

}  // namespace
}  // namespace paceline::parallel
