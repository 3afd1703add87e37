#include "paceline/nn/dropout.h"

#include "paceline/base/error.h"

#include <gtest/gtest.h>

namespace paceline::nn {
namespace {

TEST(Dropout, KeepsTheExpectedShareAndScalesIt) {
  Dropout dropout(0.25, 0);
  const at::Tensor y = dropout.forward(at::ones({8, 5000}), 8, {.seed = 3});
  const double kept = (y > 0).sum().item<double>() / 40000.0;
  EXPECT_NEAR(kept, 0.75, 0.01);
  EXPECT_FLOAT_EQ(y.max().item<float>(), 1.0f / 0.75f);
}

TEST(Dropout, TellsWhatItMultipliesBy) {
  const at::Tensor x = at::linspace(1, 2, 24).view({8, 3});
  Dropout dropout(0.5, 3);
  const at::Tensor factors = dropout.factors(x.sizes(), x.options(), 4, {1, 2, 10});
  EXPECT_TRUE(at::equal(x * factors, dropout.forward(x, 4, {1, 2, 10})));
  EXPECT_FALSE(at::equal(factors, at::ones_like(x)));
  DropPath path(0.5, 3);
  const at::Tensor of_samples = path.factors(x.options(), 4, {1, 2, 10});
  EXPECT_EQ(of_samples.sizes(), (std::vector<std::int64_t>{4, 1}));
  EXPECT_TRUE(
      at::equal((x.view({4, 6}) * of_samples).view({8, 3}), path.forward(x, 4, {1, 2, 10})));
  dropout.eval();
  path.eval();
  EXPECT_FALSE(dropout.factors(x.sizes(), x.options(), 4, {}).defined());
  EXPECT_FALSE(path.factors(x.options(), 4, {}).defined());
}

TEST(Dropout, DrawsForASampleWhateverItsBatch) {
  Dropout dropout(0.5, 2);
  const at::Tensor x = at::ones({12, 7});  // 4 samples of 3 rows
  const at::Tensor whole = dropout.forward(x, 4, {1, 2, 10});
  const at::Tensor third = dropout.forward(x.slice(0, 0, 3), 1, {1, 2, 12});
  EXPECT_TRUE(at::equal(whole.slice(0, 6, 9), third));
}

TEST(Dropout, LayersAndStepsDrawIndependently) {
  const at::Tensor x = at::ones({2, 64});
  const at::Tensor one = Dropout(0.5, 0).forward(x, 2, {1, 2, 0});
  EXPECT_FALSE(at::equal(one, Dropout(0.5, 1).forward(x, 2, {1, 2, 0})));
  EXPECT_FALSE(at::equal(one, Dropout(0.5, 0).forward(x, 2, {1, 3, 0})));
}

TEST(Dropout, IsTheIdentityInEvaluationAndAtRateZero) {
  Dropout dropout(0.5, 0);
  dropout.eval();
  const at::Tensor x = at::ones({2, 3});
  EXPECT_TRUE(dropout.forward(x, 2, {}).is_same(x));
  EXPECT_TRUE(Dropout(0.0, 0).forward(x, 2, {}).is_same(x));
  EXPECT_THROW(Dropout(1.5, 0), base::ConfigError);
}

TEST(DropPath, AGroupSharesADrawWhateverItsBatch) {
  DropPath path(0, 3);
  path.set_rule({.rate = 0.5, .group = 4, .scales_in_evaluation = true});
  const at::Tensor whole = path.factors(at::kFloat, 64, {.seed = 1, .step = 2});
  const at::Tensor groups = whole.view({16, 4});
  EXPECT_TRUE(groups.eq(groups.slice(1, 0, 1)).all().item<bool>());
  EXPECT_GT(groups.sum().item<double>(), 0);
  EXPECT_LT(groups.sum().item<double>(), 64) << "what is kept is not scaled";
  for (std::int64_t first = 0; first < 64; first += 2) {
    const ForwardContext context{.seed = 1, .step = 2, .first_position = first};
    EXPECT_TRUE(path.factors(at::kFloat, 2, context).equal(whole.slice(0, first, first + 2)));
    EXPECT_EQ(path.drops_all(2, context), whole[first].item<float>() == 0);
  }
}

TEST(DropPath, AllOfAMicrobatchShareTheDrawOfItsFirst) {
  DropPath path(0, 3);
  path.set_rule({.rate = 0.5, .group = 0});
  int num_dropped = 0;
  for (std::int64_t step = 0; step < 1000; ++step) {
    const ForwardContext context{.seed = 1, .step = step};
    const at::Tensor factors = path.factors(at::kFloat, 3, context);
    EXPECT_TRUE(factors.eq(factors[0]).all().item<bool>());
    EXPECT_TRUE(path.drops_all(3, context) ? factors.eq(0).all().item<bool>()
                                           : factors.eq(2).all().item<bool>());
    num_dropped += path.drops_all(3, context) ? 1 : 0;
  }
  EXPECT_NEAR(num_dropped, 500, 80);
}

TEST(DropPath, EvaluationsMayMakeUpForWhatWasDropped) {
  DropPath path(0, 3);
  path.set_rule({.rate = 0.25, .group = 0, .scales_in_evaluation = true});
  path.eval();
  EXPECT_TRUE(path.is_active());
  EXPECT_FALSE(path.drops_all(2, {}));
  EXPECT_TRUE(path.forward(at::ones({4, 3}), 2, {}).equal(at::full({4, 3}, 0.75)));
  EXPECT_THROW(path.set_rule({.rate = -0.1}), base::ConfigError);
}

TEST(Dropout, AModuleDrawsIfARateBelowItIsNotZero) {
  torch::nn::Module module;
  module.register_module("none", std::make_shared<Dropout>(0.0, 0));
  module.register_module("never", std::make_shared<DropPath>(0.0, 1));
  EXPECT_FALSE(draws_in_training(module));
  module.eval();
  module.register_module("path", std::make_shared<DropPath>(0.1, 2));
  EXPECT_TRUE(draws_in_training(module));
}

TEST(DropPath, DropsWholeSamples) {
  DropPath path(0.5, 0);
  const at::Tensor y = path.forward(at::ones({400, 6}), 200, {.seed = 1});
  const at::Tensor per_sample = y.view({200, 12});
  EXPECT_TRUE(at::equal(std::get<0>(per_sample.min(1)), std::get<0>(per_sample.max(1))));
  EXPECT_NEAR((per_sample.select(1, 0) > 0).sum().item<double>(), 100.0, 35.0);
  EXPECT_EQ(y.max().item<double>(), 2.0);
}

TEST(DropPath, KeepsTheLayoutOfImages) {
  const DropPath path(0.5, 3);
  const at::Tensor x = at::linspace(-1, 1, 40 * 3 * 2 * 2).view({40, 3, 2, 2});
  const at::Tensor y = path.forward(x, 40, {.seed = 1});
  const auto channels_last = at::MemoryFormat::ChannelsLast;
  const at::Tensor same = path.forward(x.contiguous(channels_last), 40, {.seed = 1});
  EXPECT_TRUE(same.is_contiguous(channels_last));
  EXPECT_TRUE(y.is_contiguous());
  EXPECT_TRUE(at::equal(same, y));
  EXPECT_TRUE(at::equal(path.forward(x.view({40, 12}), 40, {.seed = 1}), y.view({40, 12})));
}

TEST(DropPath, GrowsLinearlyOverBlocks) {
  EXPECT_EQ(drop_path_rate(0.3, 0, 4), 0.0);
  EXPECT_DOUBLE_EQ(drop_path_rate(0.3, 1, 4), 0.1);
  EXPECT_DOUBLE_EQ(drop_path_rate(0.3, 3, 4), 0.3);
  EXPECT_EQ(drop_path_rate(0.3, 0, 1), 0.0);
}

// A rank without samples runs on an empty batch where its peers wait for its statistics.
TEST(Dropout, TakesNoSamples) {
  const at::Tensor none = at::ones({0, 3, 2, 2});
  EXPECT_EQ(Dropout(0.5, 0).forward(none, 0, {}).sizes(), none.sizes());
  EXPECT_EQ(DropPath(0.5, 0).forward(none, 0, {}).sizes(), none.sizes());
}

TEST(DropPath, AtRateOneNothingIsLeft) {
  EXPECT_EQ(DropPath(1.0, 0).forward(at::ones({4, 6}), 2, {}).abs().sum().item<double>(), 0.0);
}

}  // namespace
}  // namespace paceline::nn
