#include "paceline/parallel/gradient_norm.h"

#include "paceline/base/error.h"
#include "paceline/optim/param_groups.h"
#include "paceline/parallel/gradient_clipping.h"
#include "paceline/parallel/replicated/replicated_strategy.h"
#include "support/small_net.h"

#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace paceline::parallel {
namespace {

TEST(GradientNorm, IsTheNormOverAllTensorsAndDtypes) {
  const at::Tensor wide = at::linspace(-1, 1, 10001, at::kDouble);
  const at::Tensor narrow = at::linspace(-2, 3, 77, at::kFloat);
  const double expected = std::sqrt(wide.square().sum().item<double>() +
                                    narrow.to(at::kDouble).square().sum().item<double>());
  EXPECT_NEAR(flat_norm(std::vector{wide, narrow}).item<double>(), expected, 1e-5);
  EXPECT_NEAR(flat_norm(std::vector{wide}).item<double>(), wide.norm().item<double>(), 1e-12);
  EXPECT_THROW(flat_norm({}), base::InternalError);
}

TEST(GradientNorm, StaysExactOverManyFloats) {
  const at::Tensor many = at::full({5'000'001}, 0.1, at::kFloat);
  const double value = static_cast<double>(0.1F);
  const double norm = flat_norm(std::vector{many}).item<double>();
  EXPECT_NEAR(norm / (value * std::sqrt(5'000'001.0)), 1.0, 1e-6);
}

TEST(GradientNorm, ClipsAsTorchDoes) {
  const at::Tensor grad = at::full({4}, 3.0, at::kDouble);  // norm 6
  scale_to_norm(std::vector{grad}, flat_norm(std::vector{grad}), 1.5);
  EXPECT_DOUBLE_EQ(grad[0].item<double>(), 3.0 * (1.5 / (6.0 + 1e-6)));
  const at::Tensor small = at::full({4}, 0.1, at::kDouble);
  scale_to_norm(std::vector{small}, flat_norm(std::vector{small}), 1.5);
  EXPECT_DOUBLE_EQ(small[0].item<double>(), 0.1);
}

TEST(GradientNorm, LeavesGradientsWhoseNormIsNotFinite) {
  const at::Tensor grad = at::zeros({4});
  grad[1] = std::numeric_limits<double>::infinity();
  const at::Tensor norm = flat_norm(std::vector{grad});
  EXPECT_TRUE(std::isinf(norm.item<double>()));
  scale_to_norm(std::vector{grad}, norm, 1.0);
  EXPECT_EQ(grad[0].item<double>(), 0.0);
}

class GradientNormTest : public testing::Test {
 protected:
  GradientNormTest() { strategy_->prepare(net_, optim::weight_decay_rules(0.1, false, {})); }

  void run_backward(int num_microbatches = 1) {
    for (int part = 0; part < num_microbatches; ++part) {
      strategy_->begin_microbatch(part == 0, part + 1 == num_microbatches);
      if (part == 1) {
        strategy_->backward_nothing();
      } else {
        strategy_->backward(paceline::test::summed_loss(net_, 8 * part, 8), 1.0);
      }
    }
    strategy_->finish_gradients();
  }

  double exact_norm() {
    double squares = 0;
    for (const at::Tensor& flat : strategy_->gradients())
      squares += flat.square().sum().item<double>();
    return std::sqrt(squares);
  }

  paceline::test::SmallNet net_;
  std::unique_ptr<ReplicatedStrategy> strategy_ = make_none({});
};

TEST_F(GradientNormTest, HasTheSameBitsWatchedOrNot) {
  GradientNorm watched(*strategy_, /*watches=*/true);
  for (const int num_microbatches : {1, 2, 3, 1}) {
    run_backward(num_microbatches);
    EXPECT_TRUE(strategy_->watched_all());
    const double norm = watched.take().item<double>();
    EXPECT_EQ(norm, grad_norm(*strategy_).item<double>()) << num_microbatches;
    EXPECT_NEAR(norm, exact_norm(), 1e-12);
  }
}

TEST(GradientNormOfMicrobatches, SeesWhatTheLastOneBroughtNothingFor) {
  paceline::test::SmallNet net;
  const auto strategy = make_none({.allow_unused_parameters = true});
  strategy->prepare(net, optim::weight_decay_rules(0.1, false, {}));
  GradientNorm watched(*strategy, /*watches=*/true);
  for (int step = 0; step < 2; ++step) {
    strategy->begin_microbatch(true, false);
    strategy->backward(paceline::test::summed_loss(net, 0, 8), 1.0);
    strategy->begin_microbatch(false, true);
    strategy->backward(net.conv_bias.square().sum(), 1.0);
    strategy->finish_gradients();
    EXPECT_TRUE(strategy->watched_all());
    EXPECT_EQ(watched.take().item<double>(), grad_norm(*strategy).item<double>());
  }
}

TEST_F(GradientNormTest, SeesWhatOthersMadeOfGradientsMeanwhile) {
  GradientNorm watched(*strategy_, /*watches=*/true);
  run_backward();
  for (const at::Tensor& flat : strategy_->gradients()) flat.mul_(2);
  EXPECT_FALSE(strategy_->watched_all());
  EXPECT_NEAR(watched.take().item<double>(), exact_norm(), 1e-12);
  run_backward();
  EXPECT_TRUE(strategy_->watched_all());
}

TEST_F(GradientNormTest, LeavesOutWhatIsFrozen) {
  GradientNorm watched(*strategy_, /*watches=*/true);
  run_backward();
  watched.take();
  strategy_->train_only(std::vector<std::string>{"head_weight", "head_bias"});
  run_backward();
  EXPECT_NEAR(watched.take().item<double>(), exact_norm(), 1e-12);
}

TEST_F(GradientNormTest, OneAtATimeWatches) {
  const auto count = [](std::size_t, const at::Tensor&) {};
  {
    GradientNorm watched(*strategy_, /*watches=*/true);
    EXPECT_FALSE(strategy_->watch_gradients(count));
  }
  EXPECT_TRUE(strategy_->watch_gradients(count));
}

}  // namespace
}  // namespace paceline::parallel
