#include "paceline/parallel/averaged_weights.h"

#include "paceline/nn/batch_norm.h"
#include "paceline/optim/param_groups.h"
#include "paceline/optim/sgd.h"
#include "paceline/parallel/replicated/replicated_strategy.h"
#include "support/small_net.h"

#include <array>
#include <cmath>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::parallel {
namespace {

/// A BatchNorm of two channels, whose bias is not trained.
class AveragedWeightsTest : public ::testing::Test {
 protected:
  AveragedWeightsTest() {
    norm_.bias.set_requires_grad(false);
    const std::array rules{optim::GroupRule{"all", 0.0, 1.0, [](auto&&...) { return true; }}};
    strategy_->prepare(norm_, rules);
  }
  void set(double weight, double mean) {
    const at::NoGradGuard no_grad;
    norm_.weight.fill_(weight);
    norm_.running_mean.fill_(mean);
  }
  static double value_of(const AveragedWeights& average, const std::string& name) {
    for (const StateShard& shard : average.shards("average/")) {
      if (shard.name == "average/" + name) return shard.data[0].item<double>();
    }
    ADD_FAILURE() << "there is no average of " << name;
    return 0;
  }

  nn::BatchNorm2d norm_{2};
  std::unique_ptr<Strategy> strategy_ = make_none({});
};

TEST_F(AveragedWeightsTest, MovesTrainedWeightsAndFloatingBuffers) {
  set(1, 10);
  AveragedWeights average(*strategy_);
  EXPECT_EQ(value_of(average, "weight"), 1);
  set(3, 20);
  average.move_weights(0.5);
  EXPECT_EQ(value_of(average, "weight"), 2);
  EXPECT_EQ(value_of(average, "running_mean"), 10);
  average.move_buffers(0.25);
  EXPECT_EQ(value_of(average, "running_mean"), 12.5);
  std::vector<std::string> names;
  for (const StateShard& shard : average.shards("")) names.push_back(shard.name);
  EXPECT_THAT(names, ::testing::ElementsAre("weight", "running_mean", "running_var"));
}

TEST_F(AveragedWeightsTest, AWholeShareCopiesBits) {
  set(0.1, 0.3);
  AveragedWeights average(*strategy_);
  set(1e30, -0.0);
  average.move_weights(1);
  average.move_buffers(1);
  set(5, 5);
  average.load();
  EXPECT_EQ(norm_.weight[0].item<float>(), 1e30f);
  EXPECT_TRUE(std::signbit(norm_.running_mean[0].item<float>()));
}

TEST_F(AveragedWeightsTest, SwapsAndLoads) {
  set(1, 10);
  AveragedWeights average(*strategy_);
  set(3, 20);
  average.swap();
  EXPECT_EQ(norm_.weight[1].item<double>(), 1);
  EXPECT_EQ(norm_.running_mean[1].item<double>(), 10);
  EXPECT_EQ(value_of(average, "weight"), 3);
  average.load();
  EXPECT_EQ(norm_.weight[1].item<double>(), 3);
  EXPECT_EQ(norm_.running_mean[1].item<double>(), 20);
}

class AveragedBesideAStepTest : public ::testing::Test {
 protected:
  AveragedBesideAStepTest() {
    strategy_->prepare(net_, optim::weight_decay_rules(0.1, false, {}));
    optimizer_ = optim::make_optimizer(optim::SgdConfig{}, strategy_->param_groups());
  }
  void take_step(const std::function<void()>& before_update = [] {}) {
    strategy_->begin_microbatch(true, true);
    strategy_->backward(paceline::test::summed_loss(net_, 0, 8), 0.1);
    strategy_->finish_gradients();
    before_update();
    strategy_->update(*optimizer_, 0.01);
  }
  static std::vector<at::Tensor> values_of(const AveragedWeights& average) {
    std::vector<at::Tensor> values;
    for (const StateShard& shard : average.shards("")) values.push_back(shard.data.clone());
    return values;
  }

  paceline::test::SmallNet net_;
  std::unique_ptr<Strategy> strategy_ = make_none({});
  std::unique_ptr<optim::Optimizer> optimizer_;
};

TEST_F(AveragedBesideAStepTest, HasTheBitsOfAPassAfterIt) {
  AveragedWeights joined(*strategy_), apart(*strategy_);
  for (const double share : {0.25, 0.75}) {
    take_step([&] { EXPECT_TRUE(joined.move_weights_with_step(*optimizer_, share)); });
    apart.move_weights(share);
  }
  const std::vector<at::Tensor> one = values_of(joined), other = values_of(apart);
  for (std::size_t i = 0; i < one.size(); ++i) EXPECT_TRUE(one[i].equal(other[i])) << i;
}

TEST_F(AveragedBesideAStepTest, RefusesWhereTheStepIsNotAll) {
  AveragedWeights average(*strategy_), other(*strategy_);
  EXPECT_FALSE(average.move_weights_with_step(*optimizer_, 1)) << "a copy";
  EXPECT_TRUE(average.move_weights_with_step(*optimizer_, 0.5));
  EXPECT_FALSE(other.move_weights_with_step(*optimizer_, 0.5)) << "a second one";
  take_step();
  strategy_->train_only(std::vector<std::string>{"head_weight", "head_bias"});
  EXPECT_FALSE(average.move_weights_with_step(*optimizer_, 0.5))
      << "frozen weights are put back after the step";
}

}  // namespace
}  // namespace paceline::parallel
