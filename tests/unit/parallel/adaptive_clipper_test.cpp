#include "paceline/parallel/adaptive_clipper.h"

#include "paceline/optim/param_groups.h"
#include "paceline/parallel/replicated/replicated_strategy.h"
#include "paceline/tensor/torch.h"
#include "support/small_net.h"

#include <cmath>
#include <limits>
#include <map>
#include <memory>
#include <string>

#include <gtest/gtest.h>

namespace paceline::parallel {
namespace {

using paceline::test::wave;

/// A linear function, so that gradients are what the test wants.
struct ClippedNet : torch::nn::Module {
  ClippedNet() {
    add("filters", wave({4, 3, 2, 2}, 1).contiguous(at::MemoryFormat::ChannelsLast));
    add("matrix", wave({5, 7}, 2));
    add("zeros", at::zeros({3, 4}, at::kDouble));
    add("bias", wave({6}, 3));
    add("scale", at::full({}, 0.5, at::kDouble));
  }
  void add(const std::string& name, const at::Tensor& values) {
    weights[name] = register_parameter(name, values);
    before[name] = values.detach().clone();
  }
  std::map<std::string, at::Tensor> weights, before;
};

/// The definition, for one parameter.
at::Tensor clipped(const at::Tensor& weight, const at::Tensor& grad, double threshold,
                   double floor) {
  const std::int64_t units = weight.dim() > 1 ? weight.size(0) : 1;
  const at::Tensor most = weight.reshape({units, -1}).norm(2, 1).clamp_min(floor) * threshold;
  const at::Tensor norm = grad.reshape({units, -1}).norm(2, 1);
  const at::Tensor factor = at::where(norm > most, most / norm, 1.0);
  return (grad.reshape({units, -1}) * factor.unsqueeze(1)).view(grad.sizes());
}

class AdaptiveClippingTest : public testing::Test {
 protected:
  AdaptiveClippingTest() {
    strategy_->prepare(net_, optim::weight_decay_rules(0.1, false, {}));
    double phase = 10;
    for (const auto& [name, weight] : net_.weights) grads_[name] = wave(weight.sizes(), phase++);
  }

  void run_backward() {
    at::Tensor loss = at::zeros({}, at::kDouble);
    for (const auto& [name, weight] : net_.weights) loss = loss + (weight * grads_.at(name)).sum();
    strategy_->begin_microbatch(true, true);
    strategy_->backward(loss, 1.0);
    strategy_->finish_gradients();
  }

  /// By how much a step of SGD with a learning rate of 1 moves the weights.
  std::map<std::string, at::Tensor> gradients() {
    std::map<std::string, at::Tensor> found;
    for (const auto& group : strategy_->param_groups()) {
      for (const auto& slot : group.slots) slot.param.detach().sub_(slot.grad);
    }
    for (const auto& [name, weight] : net_.weights)
      found[name] = net_.before.at(name) - weight.detach();
    return found;
  }

  ClippedNet net_;
  std::map<std::string, at::Tensor> grads_;
  std::unique_ptr<ReplicatedStrategy> strategy_ = make_none({});
};

TEST_F(AdaptiveClippingTest, IsByTheNormOfEachUnitsWeights) {
  run_backward();
  AdaptiveClipper(*strategy_, {.threshold = 0.8}).clip();
  int num_kept = 0;
  for (const auto& [name, grad] : gradients()) {
    const at::Tensor wanted = clipped(net_.before.at(name), grads_.at(name), 0.8, 0);
    EXPECT_TRUE(at::allclose(grad, wanted, 1e-12, 1e-14)) << name;
    num_kept += at::allclose(grads_.at(name), wanted) ? 1 : 0;
  }
  EXPECT_LT(num_kept, 5);
  EXPECT_EQ(net_.weights.at("zeros").abs().max().item<double>(), 0) << "they never move";
}

TEST_F(AdaptiveClippingTest, AFloorLetsZerosMove) {
  run_backward();
  AdaptiveClipper(*strategy_, {.threshold = 0.8, .floor = 1e-3}).clip();
  const at::Tensor moved = gradients().at("zeros");
  EXPECT_TRUE(at::allclose(moved, clipped(net_.before.at("zeros"), grads_.at("zeros"), 0.8, 1e-3),
                           1e-12, 1e-14));
  EXPECT_NEAR(moved[0].norm().item<double>(), 0.8e-3, 1e-12);
}

TEST_F(AdaptiveClippingTest, ZerosAndWhatIsNotFiniteStay) {
  grads_["bias"].zero_();
  grads_["scale"].fill_(std::numeric_limits<double>::infinity());
  run_backward();
  AdaptiveClipper(*strategy_, {.threshold = 0.01}).clip();
  const auto found = gradients();
  EXPECT_EQ(found.at("bias").abs().max().item<double>(), 0);
  EXPECT_TRUE(std::isinf(found.at("scale").item<double>()));
}

TEST_F(AdaptiveClippingTest, HasTheSameBitsAsGradientsComeAndAfterwards) {
  run_backward();
  AdaptiveClipper(*strategy_, {.threshold = 0.8}).clip();
  const at::Tensor afterwards = strategy_->gradients().front().clone();
  AdaptiveClipper watching(*strategy_, {.threshold = 0.8}, /*watches=*/true);
  run_backward();
  EXPECT_TRUE(strategy_->gradients().front().equal(afterwards)) << "before anybody asks";
  watching.clip();
  EXPECT_TRUE(strategy_->gradients().front().equal(afterwards)) << "and once alone";
}

}  // namespace
}  // namespace paceline::parallel
