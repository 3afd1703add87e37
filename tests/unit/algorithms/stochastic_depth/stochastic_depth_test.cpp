#include "paceline/algorithms/stochastic_depth/stochastic_depth.h"

#include "paceline/base/error.h"
#include "paceline/base/log.h"
#include "paceline/comm/fake/fake_communicator.h"
#include "paceline/config/problems.h"
#include "paceline/models/resnet/resnet.h"
#include "paceline/nn/batch_norm.h"
#include "paceline/train/run_context.h"
#include "paceline/train/tasks/classification.h"
#include "paceline/train/train_state.h"

#include <atomic>
#include <functional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::algorithms {
namespace {

using ::testing::DoubleEq;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::shared_ptr<models::ResNet> network_with(double drop_path_rate, std::vector<int> layers) {
  return std::make_shared<models::ResNet>(
      models::ResNetConfig{.num_classes = 5,
                           .layers = {layers.begin(), layers.end()},
                           .width = 16,
                           .drop_path_rate = drop_path_rate});
}

class StochasticDepthTest : public ::testing::Test {
 protected:
  void init(StochasticDepth& algorithm, std::shared_ptr<nn::Network> network) {
    const base::LogRedirection quiet([](base::LogLevel, std::string_view) {});
    network_ = network.get();
    state_.task = std::make_unique<train::ClassificationTask>(std::move(network), nullptr);
    algorithm.apply(train::Event::kInit, state_, run_);
  }
  std::string refusal_of(const StochasticDepthConfig& config,
                         std::shared_ptr<nn::Network> network) {
    StochasticDepth algorithm(config);
    try {
      init(algorithm, std::move(network));
    } catch (const base::ConfigError& error) {
      return error.what();
    }
    return "";
  }
  /// At a step of a run of ten.
  std::vector<double> rates_at(StochasticDepth& algorithm, std::int64_t step) {
    state_.clock.step = step;
    state_.clock.lengths = {.total_steps = 10, .steps_per_epoch = 5, .samples_per_step = 2};
    algorithm.apply(train::Event::kStepStart, state_, run_);
    std::vector<double> rates;
    for (const ResidualBranches& block : residual_blocks(*network_))
      rates.push_back(block.drop_paths.front()->rule().rate);
    return rates;
  }

  train::TrainState state_;

 private:
  std::unique_ptr<comm::Communicator> communicator_ = comm::make_fake_communicator(0, 1);
  std::atomic<int> no_signal_{0};
  train::RunContext run_{*communicator_, {}, 1, {}, no_signal_};
  nn::Network* network_ = nullptr;
};

TEST_F(StochasticDepthTest, RatesGrowOverTheWarmUpByTheClock) {
  StochasticDepth algorithm({.drop_rate = 0.4, .warmup = {0.25, config::TimeUnit::kFraction}});
  init(algorithm, network_with(0, {1, 1}));
  EXPECT_THAT(rates_at(algorithm, 0), ElementsAre(0, 0));
  EXPECT_TRUE(nn::draws_in_training(state_.task->network())) << "it will";
  EXPECT_THAT(rates_at(algorithm, 1), ElementsAre(DoubleEq(0.08), DoubleEq(0.16)));
  EXPECT_THAT(algorithm.scalars(), ElementsAre(DoubleEq(0.16)));
  EXPECT_THAT(rates_at(algorithm, 3), ElementsAre(0.2, 0.4));
  EXPECT_THAT(rates_at(algorithm, 1), ElementsAre(DoubleEq(0.08), DoubleEq(0.16)));
}

TEST_F(StochasticDepthTest, RecordsWhatEvaluationsComputeOtherwise) {
  StochasticDepth algorithm({});
  init(algorithm, network_with(0, {1, 1}));
  EXPECT_TRUE(algorithm.traits().changes_network);
  EXPECT_THAT(algorithm.changed_layers().at("blocks"), ElementsAre("layer1.0", "layer2.0"));
  StochasticDepth like_timm({.rescale = DropRescale::kTimm});
  init(like_timm, network_with(0, {1, 1}));
  EXPECT_FALSE(like_timm.traits().changes_network);
  EXPECT_TRUE(like_timm.changed_layers().empty());
}

TEST_F(StochasticDepthTest, RefusesWhatCannotGoTogether) {
  EXPECT_EQ(refusal_of({}, network_with(0, {1, 1})), "");
  EXPECT_THAT(refusal_of({}, network_with(0.1, {2, 1})), HasSubstr("model.drop_path_rate"));
  EXPECT_THAT(refusal_of({}, network_with(0, {})), HasSubstr("no residual block"));
  const auto synchronised = network_with(0, {1, 1});
  synchronised->apply([](torch::nn::Module& module) {
    if (auto* norm = module.as<nn::BatchNorm2d>())
      norm->set_training_kernel([](const at::Tensor& x, const nn::BatchNorm2d&) { return x; });
  });
  EXPECT_THAT(refusal_of({}, synchronised), HasSubstr("parallel.sync_batch_norm"));
  EXPECT_EQ(refusal_of({.method = DropMethod::kSample}, synchronised), "");
}

TEST_F(StochasticDepthTest, RefusesSettingsThatMeanNothing) {
  const auto problems_of = [](const StochasticDepthConfig& config) {
    config::Problems problems;
    config::Schema<StochasticDepthConfig>::validate(config, problems);
    return problems.message();
  };
  EXPECT_EQ(problems_of({.group = 2}), "");
  EXPECT_THAT(problems_of({.method = DropMethod::kSample, .group = 2}), HasSubstr("group"));
  EXPECT_THAT(problems_of({.warmup = {3, config::TimeUnit::kSecond}}), HasSubstr("wall-clock"));
}

}  // namespace
}  // namespace paceline::algorithms
