#include "paceline/optim/decoupled.h"

#include "paceline/base/error.h"
#include "paceline/config/bind.h"
#include "paceline/config/parse.h"
#include "paceline/tensor/aten.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::optim {
namespace {

/// What is left of ones after a step without gradient.
template <class Config>
double left_of_one(const Config& config, double lr, double lr_scale = 1.0) {
  const at::Tensor param = at::ones({3}, at::kDouble);
  const auto optimizer =
      make_optimizer(config, {{.name = "g",
                               .weight_decay = 0.1,
                               .lr_scale = lr_scale,
                               .slots = {{param, at::zeros({3}, at::kDouble)}}}});
  optimizer->step(lr);
  return param[0].item<double>();
}

TEST(Decoupled, DecayFollowsTheScheduleAndNotTheBaseLearningRate) {
  for (const double base : {1e-3, 0.5, 2.0}) {
    EXPECT_DOUBLE_EQ(left_of_one(DecoupledSgdwConfig{.lr = base}, base), 0.9);
    EXPECT_DOUBLE_EQ(left_of_one(DecoupledSgdwConfig{.lr = base, .momentum = 0.9}, base / 2), 0.95);
    EXPECT_DOUBLE_EQ(left_of_one(DecoupledAdamWConfig{.lr = base}, base / 4), 0.975);
  }
  EXPECT_DOUBLE_EQ(left_of_one(DecoupledAdamWConfig{}, 0), 1) << "a warm-up begins";
}

TEST(Decoupled, DecayIsThatOfPartsWithAnotherLearningRate) {
  for (const double scale : {0.0, 0.1, 10.0}) {
    EXPECT_DOUBLE_EQ(left_of_one(DecoupledSgdwConfig{.lr = 0.5}, 0.5, scale), 0.9);
    EXPECT_DOUBLE_EQ(left_of_one(DecoupledAdamWConfig{.lr = 0.5}, 0.5, scale), 0.9);
  }
}

TEST(Decoupled, OnlyWhatHasMomentumTakesAnother) {
  const auto with = [](double momentum) {
    return make_optimizer(DecoupledSgdwConfig{.momentum = momentum},
                          {{.name = "g", .slots = {{at::ones({3}), at::ones({3})}}}});
  };
  EXPECT_FALSE(with(0)->set_momentum(0.5));
  EXPECT_TRUE(with(0.9)->set_momentum(0.5));
  EXPECT_TRUE(with(0)->state().empty());
}

TEST(Decoupled, NesterovNeedsMomentum) {
  EXPECT_THAT(
      [] {
        config::bind<DecoupledSgdwConfig>(config::parse_yaml("{nesterov: true}", "recipe"), {});
      },
      testing::ThrowsMessage<base::ConfigError>(testing::HasSubstr("needs momentum above 0")));
}

}  // namespace
}  // namespace paceline::optim
