#include "paceline/algorithms/blurpool/blurpool.h"

#include "paceline/base/error.h"
#include "paceline/comm/fake/fake_communicator.h"
#include "paceline/models/resnet/resnet.h"
#include "paceline/models/vit/vit.h"
#include "paceline/nn/module_tree.h"
#include "paceline/train/run_context.h"
#include "paceline/train/tasks/classification.h"
#include "paceline/train/train_state.h"

#include <atomic>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::algorithms {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

train::LayerNames apply_to(std::shared_ptr<nn::Network> network) {
  const auto communicator = comm::make_fake_communicator(0, 1);
  const std::atomic<int> no_signal{0};
  const train::RunContext run{*communicator, {}, 1, {}, no_signal};
  train::TrainState state;
  state.task = std::make_unique<train::ClassificationTask>(std::move(network), nullptr);
  BlurPool blurpool({});
  EXPECT_TRUE(blurpool.traits().changes_network);
  blurpool.apply(train::Event::kInit, state, run);
  return blurpool.changed_layers();
}

TEST(BlurPool, KeepsNamesAndValuesAndChangesOutputs) {
  const auto network = std::make_shared<models::ResNet>(models::ResNetConfig{.num_classes = 5});
  network->initialize(1);
  nn::set_training(*network, false);
  const auto names = [&] {
    std::vector<std::string> found;
    for (const nn::NamedTensor& item : nn::state_dict(*network)) found.push_back(item.name);
    return found;
  };
  const at::NoGradGuard no_grad;
  const at::Tensor images = at::linspace(-1, 1, 3 * 64 * 64).view({1, 3, 64, 64});
  const at::Tensor weight = nn::named_parameters(*network).front().tensor.clone();
  const at::Tensor before = network->forward_images(images, {});
  const auto names_before = names();
  const train::LayerNames changed = apply_to(network);
  EXPECT_THAT(
      changed.at("convolutions"),
      ::testing::ElementsAre("layer2.0.conv1", "layer2.0.downsample.0", "layer3.0.conv1",
                             "layer3.0.downsample.0", "layer4.0.conv1", "layer4.0.downsample.0"));
  EXPECT_THAT(changed.at("max-pools"), ::testing::ElementsAre("maxpool"));
  EXPECT_EQ(names(), names_before);
  EXPECT_TRUE(nn::named_parameters(*network).front().tensor.equal(weight));
  EXPECT_FALSE(network->forward_images(images, {}).allclose(before, 1e-3, 1e-3));
}

TEST(BlurPool, RefusesANetworkWithoutSuchLayers) {
  EXPECT_THAT(
      [] {
        apply_to(std::make_shared<models::Vit>(models::VitConfig{.num_classes = 2,
                                                                 .img_size = 8,
                                                                 .patch_size = 4,
                                                                 .embed_dim = 8,
                                                                 .depth = 1,
                                                                 .num_heads = 2}));
      },
      ThrowsMessage<base::ConfigError>(HasSubstr("no layer to blur")));
}

}  // namespace
}  // namespace paceline::algorithms
