#include "paceline/algorithms/layer_freezing/layer_freezing.h"

#include "golden/algorithms/golden_values.h"
#include "paceline/base/log.h"
#include "paceline/comm/fake/fake_communicator.h"
#include "paceline/models/resnet/resnet.h"
#include "paceline/nn/module_tree.h"
#include "paceline/parallel/replicated/replicated_strategy.h"
#include "paceline/train/run_context.h"
#include "paceline/train/tasks/classification.h"
#include "paceline/train/train_state.h"

#include <array>
#include <atomic>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

// Which parameters Composer's LayerFreezing leaves to train after each epoch:
// make_layer_freezing.py.

namespace paceline::algorithms {
namespace {

using nlohmann::json;

constexpr std::int64_t kStepsPerEpoch = 3;

std::shared_ptr<models::ResNet> network_of(const json& name) {
  return std::make_shared<models::ResNet>(
      name == "resnet50"
          ? models::ResNetConfig{.layers = {3, 4, 6, 3}, .block = models::ResNetBlock::kBottleneck}
          : models::ResNetConfig{});
}

void expect_frozen_case(const json& golden) {
  SCOPED_TRACE(golden["model"].dump() + golden["options"].dump());
  const auto network = network_of(golden["model"]);
  const auto communicator = comm::make_fake_communicator(0, 1);
  const std::atomic<int> no_signal{0};
  const train::RunContext run{*communicator, {}, 1, {}, no_signal};
  train::TrainState state;
  state.task = std::make_unique<train::ClassificationTask>(network, nullptr);
  state.strategy = parallel::make_none({});
  const std::array rules{optim::GroupRule{"all", 0.0, 1.0, [](auto&&...) { return true; }}};
  state.strategy->prepare(*network, rules);
  const std::int64_t epochs = golden["epochs"];
  state.clock.lengths = {.total_steps = epochs * kStepsPerEpoch,
                         .steps_per_epoch = kStepsPerEpoch,
                         .samples_per_step = 1};
  LayerFreezing algorithm({.freeze_start = golden["options"].value("freeze_start", 0.5),
                           .freeze_level = golden["options"].value("freeze_level", 1.0)});
  algorithm.apply(train::Event::kFitStart, state, run);
  for (std::int64_t epoch = 1; epoch <= epochs; ++epoch) {
    state.clock.step = epoch * kStepsPerEpoch;
    algorithm.apply(train::Event::kEpochEnd, state, run);
    std::vector<std::string> wanted;
    for (const json& place : golden["trained"][static_cast<std::size_t>(epoch - 1)])
      wanted.push_back(golden["parameters"][place.get<std::size_t>()].get<std::string>());
    std::vector<std::string> trained;
    for (const nn::NamedTensor& named : nn::named_parameters(*network)) {
      if (named.tensor.requires_grad()) trained.push_back(named.name);
    }
    EXPECT_EQ(trained, wanted) << "after epoch " << epoch;
  }
}

TEST(GoldenLayerFreezing, FreezesComposersLayers) {
  const base::LogRedirection quiet([](base::LogLevel, std::string_view) {});
  for (const json& each : golden_list("layer_freezing.json", "cases")) expect_frozen_case(each);
}

}  // namespace
}  // namespace paceline::algorithms
