#include "paceline/algorithms/layer_freezing/layer_freezing.h"

#include "paceline/algorithms/factorize/factorize.h"
#include "paceline/algorithms/squeeze_excite/squeeze_excite.h"
#include "paceline/base/error.h"
#include "paceline/base/log.h"
#include "paceline/comm/fake/fake_communicator.h"
#include "paceline/models/resnet/resnet.h"
#include "paceline/nn/module_tree.h"
#include "paceline/parallel/replicated/replicated_strategy.h"
#include "paceline/parallel/sharded/sharded_strategy.h"
#include "paceline/train/run_context.h"
#include "paceline/train/tasks/classification.h"
#include "paceline/train/train_state.h"

#include <array>
#include <atomic>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::algorithms {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;
using train::Event;

/// One block: conv1, bn1, layer1.0.conv1, .bn1, .conv2, .bn2 and fc are seven layers.
std::shared_ptr<models::ResNet> network_of_seven_layers() {
  return std::make_shared<models::ResNet>(
      models::ResNetConfig{.num_classes = 5, .layers = {1}, .width = 8});
}

/// Ten epochs of two steps.
class LayerFreezingTest : public ::testing::Test {
 protected:
  LayerFreezingTest() { hold(parallel::make_none({})); }

  void hold(std::unique_ptr<parallel::Strategy> strategy) {
    auto network = network_of_seven_layers();
    network->initialize(1);
    state_.task = std::make_unique<train::ClassificationTask>(std::move(network), nullptr);
    const std::array rules{optim::GroupRule{"all", 0.0, 1.0, [](auto&&...) { return true; }}};
    state_.strategy = std::move(strategy);
    state_.strategy->prepare(state_.task->network(), rules);
    state_.clock.lengths = {.total_steps = 20, .steps_per_epoch = 2, .samples_per_step = 1};
  }
  void fire(LayerFreezing& algorithm, Event event, std::int64_t epoch) {
    state_.clock.step = 2 * epoch;
    algorithm.apply(event, state_, run_);
  }
  std::vector<std::string> trained() const {
    std::vector<std::string> names;
    for (const nn::NamedTensor& named : nn::named_parameters(state_.task->network())) {
      if (named.tensor.requires_grad()) names.push_back(named.name);
    }
    return names;
  }

  train::TrainState state_;
  std::unique_ptr<comm::Communicator> communicator_ = comm::make_fake_communicator(0, 1);
  std::atomic<int> signal_{0};
  train::RunContext run_{*communicator_, {}, 1, {}, signal_};
  base::LogRedirection quiet_{[](base::LogLevel, std::string_view) {}};
};

TEST_F(LayerFreezingTest, MoreLayersRestAsTheRunGoesOn) {
  LayerFreezing algorithm({.freeze_start = 0.5});
  fire(algorithm, Event::kFitStart, 0);
  EXPECT_EQ(trained().size(), 11u) << "what was tried is trained again";
  std::vector<double> counts;
  for (std::int64_t epoch = 1; epoch <= 10; ++epoch) {
    fire(algorithm, Event::kEpochEnd, epoch);
    counts.push_back(algorithm.scalars().at(0));
    if (epoch != 8) continue;  // 0.6 of six layers
    EXPECT_THAT(trained(),
                ElementsAre("layer1.0.bn1.weight", "layer1.0.bn1.bias", "layer1.0.conv2.weight",
                            "layer1.0.bn2.weight", "layer1.0.bn2.bias", "fc.weight", "fc.bias"));
  }
  EXPECT_THAT(counts, ElementsAre(0, 0, 0, 0, 0, 1, 2, 3, 4, 6));
  EXPECT_THAT(trained(), ElementsAre("fc.weight", "fc.bias"));
}

TEST_F(LayerFreezingTest, FollowsTheClockWhereARunIsResumed) {
  LayerFreezing algorithm({.freeze_start = 0, .freeze_level = 0.5});
  fire(algorithm, Event::kFitStart, 7);
  EXPECT_EQ(algorithm.scalars().at(0), 2) << "0.35 of six layers";
  state_.clock.step = 15;  // in the middle of an epoch
  algorithm.apply(Event::kFitStart, state_, run_);
  EXPECT_EQ(algorithm.scalars().at(0), 2);
}

TEST_F(LayerFreezingTest, LayersAreThoseWithoutOthersBelow) {
  const auto network = network_of_seven_layers();
  EXPECT_EQ(parameters_by_layer(*network).size(), 7u);
  excite_layers(*network, {.latent_channels = 2, .min_channels = 8}, 1);
  const auto layers = parameters_by_layer(*network);
  ASSERT_EQ(layers.size(), 11u);
  EXPECT_THAT(layers[2], ElementsAre("layer1.0.conv1.weight"));
  EXPECT_THAT(layers[3], ElementsAre("layer1.0.conv1.se.fc1.weight"));
  EXPECT_THAT(layers[5], ElementsAre("layer1.0.bn1.weight", "layer1.0.bn1.bias"));
}

TEST_F(LayerFreezingTest, FactorsAreALayerEach) {
  const auto network = network_of_seven_layers();
  factorize_layers(*network, {.min_channels = 8, .min_features = 5, .latent_features = 2}, 1);
  const auto layers = parameters_by_layer(*network);
  ASSERT_EQ(layers.size(), 10u) << "two convolutions and fc are two layers each";
  EXPECT_THAT(layers[2], ElementsAre("layer1.0.conv1.to_latent.weight"));
  EXPECT_THAT(layers[3], ElementsAre("layer1.0.conv1.weight", "layer1.0.conv1.bias"));
  EXPECT_THAT(layers[8], ElementsAre("fc.to_latent.weight"));
  EXPECT_THAT(layers[9], ElementsAre("fc.weight", "fc.bias"));
}

TEST_F(LayerFreezingTest, PartsRestAllAtOnce) {
  LayerFreezing algorithm(
      {.parts = {"stem", "*.bn1.bias"}, .after = config::Duration{5, config::TimeUnit::kBatch}});
  fire(algorithm, Event::kFitStart, 0);
  std::vector<double> counts;
  for (std::int64_t epoch = 1; epoch <= 4; ++epoch) {
    fire(algorithm, Event::kEpochEnd, epoch);
    counts.push_back(algorithm.scalars().at(0));
  }
  EXPECT_THAT(counts, ElementsAre(0, 0, 2, 2)) << "step 5 lies in the third epoch";
  EXPECT_THAT(trained(),
              ElementsAre("layer1.0.conv1.weight", "layer1.0.bn1.weight", "layer1.0.conv2.weight",
                          "layer1.0.bn2.weight", "layer1.0.bn2.bias", "fc.weight", "fc.bias"));
  LayerFreezing resumed(
      {.parts = {"stem"}, .after = config::Duration{3, config::TimeUnit::kEpoch}});
  fire(resumed, Event::kFitStart, 3);
  EXPECT_EQ(resumed.scalars().at(0), 1);
}

TEST_F(LayerFreezingTest, PartsNeedNoLengthOfTheRun) {
  state_.clock.lengths.total_steps = 0;
  LayerFreezing algorithm(
      {.parts = {"stem"}, .after = config::Duration{2, config::TimeUnit::kEpoch}});
  fire(algorithm, Event::kPrepared, 0);
  EXPECT_EQ(trained().size(), 11u);
  fire(algorithm, Event::kFitStart, 2);
  EXPECT_EQ(algorithm.scalars().at(0), 1);
}

TEST_F(LayerFreezingTest, WithoutARunNothingRests) {
  state_.clock.lengths = {};
  LayerFreezing algorithm({});
  EXPECT_NO_THROW(algorithm.apply(Event::kPrepared, state_, run_));
  EXPECT_EQ(trained().size(), 11u);
}

TEST_F(LayerFreezingTest, RefusesPartsThatAreNoneOrNeverRest) {
  const auto refusal = [&](const LayerFreezingConfig& config, const char* words) {
    LayerFreezing algorithm(config);
    EXPECT_THAT([&] { fire(algorithm, Event::kFitStart, 0); },
                ThrowsMessage<base::ConfigError>(HasSubstr(words)));
  };
  refusal({.parts = {"layr1"}, .after = config::Duration{1, config::TimeUnit::kEpoch}},
          "algorithms.layer_freezing.parts: no parameter of the network is named so");
  refusal({.parts = {"stem"}, .after = config::Duration{10, config::TimeUnit::kEpoch}},
          "no epoch ends at or past after (10ep) and before the last of 20 steps");
  config::Problems problems;
  config::Schema<LayerFreezingConfig>::validate({.parts = {"stem"}}, problems);
  config::Schema<LayerFreezingConfig>::validate(
      {.after = config::Duration{1, config::TimeUnit::kEpoch}}, problems);
  EXPECT_EQ(problems.size(), 2u);
}

TEST_F(LayerFreezingTest, RefusesRunsInWhichNothingWouldRest) {
  const auto refusal = [&](const LayerFreezingConfig& config, const char* words) {
    LayerFreezing algorithm(config);
    EXPECT_THAT([&] { fire(algorithm, Event::kFitStart, 0); },
                ThrowsMessage<base::ConfigError>(HasSubstr(words)));
  };
  refusal({.freeze_start = 0.9}, "freeze none of 7 layers");
  state_.clock.lengths.total_steps = 2;
  refusal({.freeze_start = 0}, "freeze none of 7 layers");
  state_.clock.lengths.total_steps = 0;
  refusal({}, "give train.duration in ep, ba or sp");
}

TEST_F(LayerFreezingTest, RefusesAtOnceWhatTheStrategyCannotFreeze) {
  hold(parallel::make_fsdp({}, *communicator_));
  LayerFreezing algorithm({});
  EXPECT_THAT([&] { fire(algorithm, Event::kFitStart, 0); },
              ThrowsMessage<base::ConfigError>(
                  AllOf(HasSubstr("algorithms.layer_freezing: strategy fsdp freezes whole units"),
                        HasSubstr("zero2"))));
}

}  // namespace
}  // namespace paceline::algorithms
