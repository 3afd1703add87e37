#include "paceline/nn/pass_memory/shaped_pass.h"

#include "paceline/nn/linear.h"
#include "paceline/nn/unit.h"
#include "paceline/tensor/autocast.h"
#include "support/measured_pass.h"

#include <memory>
#include <optional>

#include <gtest/gtest.h>

namespace paceline::nn {
namespace {

using Keeps = ShapedPass::Keeps;

constexpr std::int64_t kRows = 512;
constexpr std::int64_t kDim = 64;
constexpr std::int64_t kHidden = 256;

/// Two layers around an activation, added to their input.
class Branch : public Unit {
 public:
  Branch()
      : in_(register_module("in", std::make_shared<Linear>(kDim, kHidden))),
        out_(register_module("out", std::make_shared<Linear>(kHidden, kDim))) {}
  at::Tensor forward(const at::Tensor& x) const {
    return run(x, [this](const at::Tensor& input) {
      return input + out_->forward(at::gelu(in_->forward(input)));
    });
  }

 private:
  std::shared_ptr<Linear> in_, out_;
};

class Branches : public torch::nn::Module {
 public:
  Branches() {
    for (int i = 0; i < 3; ++i)
      parts_.push_back(register_module(std::to_string(i), std::make_shared<Branch>()));
  }
  at::Tensor forward(at::Tensor x) const {
    for (const auto& part : parts_) x = part->forward(x);
    return x;
  }

 private:
  std::vector<std::shared_ptr<Branch>> parts_;
};

struct BranchesCase {
  bool is_half = false;
  int every = 0;
  KeptResults kept = KeptResults::kNone;
};

double measured_branches(const BranchesCase& given) {
  Branches network;
  for (const at::Tensor& parameter : network.parameters()) parameter.detach().fill_(0.01);
  if (given.every > 0) set_activation_checkpointing(network, given.every, given.kept);
  test::take_gradients(network);
  const at::Tensor x = at::ones({kRows, kDim});
  return test::measured_peak([&] {
    at::Tensor loss;
    {
      const tensor::AutocastGuard autocast(
          at::kCPU, given.is_half ? std::optional(at::kBFloat16) : std::nullopt);
      loss = network.forward(x).sum();
    }
    loss.backward();
  });
}

double told_branches(const BranchesCase& given) {
  ShapedPass pass({.autocast = given.is_half ? std::optional<std::int64_t>(2) : std::nullopt,
                   .checkpoint_every = given.every,
                   .kept = given.kept});
  const auto branch = [&pass](const std::vector<Shaped>& inputs) {
    const Shaped hidden = pass.linear(inputs[0], kRows, kDim, kHidden);
    const Shaped activated = pass.pointwise(hidden, Keeps::kInput);
    return pass.sum(inputs[0], pass.linear(activated, kRows, kHidden, kDim));
  };
  Shaped x = pass.given(kRows * kDim);
  for (int i = 0; i < 3; ++i) x = pass.unit({x}, branch);
  const Shaped loss = pass.tape().record(
      pass.take(1, x.width), {x}, [values = x.values, width = x.width](Shaped /*grad*/) {
        return ShapeTape::Gradients{{values, width}};  // spread without memory
      });
  pass.end_forward();
  return static_cast<double>(pass.backward(loss));
}

TEST(ShapedPass, TellsWhatAPassTakes) {
  for (const bool is_half : {false, true}) {
    for (const int every : {0, 1, 2}) {
      for (const KeptResults kept : {KeptResults::kNone, KeptResults::kMatmuls}) {
        const BranchesCase given{is_half, every, kept};
        EXPECT_NEAR(told_branches(given) / measured_branches(given), 1.0, 0.1)
            << is_half << " every " << every << " " << static_cast<int>(kept);
      }
    }
  }
}

TEST(ShapedPass, ComputingAgainTakesLess) {
  EXPECT_LT(told_branches({.every = 1}), 0.8 * told_branches({}));
  EXPECT_LT(told_branches({.every = 1}),
            told_branches({.every = 1, .kept = KeptResults::kMatmuls}));
}

TEST(ShapedPass, AGpusAutocastKeepsNormsInFloat32) {
  const auto norm_width = [](bool is_on_gpu) {
    ShapedPass pass({.autocast = 2, .is_on_gpu = is_on_gpu});
    return pass.norm(pass.as_norms_see(pass.take(64, 2)), 1).width;
  };
  EXPECT_EQ(norm_width(false), 2);
  EXPECT_EQ(norm_width(true), 4);
}

TEST(ShapedPass, WeightsThatAreGatheredInHalfHaveNoCopies) {
  ShapedPass casts({.autocast = 2});
  casts.cast_weight(64);
  EXPECT_EQ(casts.tape().held(), 128);
  casts.end_forward();
  EXPECT_EQ(casts.tape().held(), 0);
  ShapedPass gathers({.autocast = 2, .casts_weights = false});
  gathers.cast_weight(64);
  EXPECT_EQ(gathers.tape().held(), 0);
}

}  // namespace
}  // namespace paceline::nn
