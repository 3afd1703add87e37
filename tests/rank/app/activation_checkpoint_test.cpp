#include "paceline/nn/activation_checkpoint.h"

#include "paceline/base/error.h"
#include "paceline/models/convnext/convnext.h"
#include "paceline/models/efficientnet/efficientnet.h"
#include "paceline/models/resnet/resnet.h"
#include "paceline/models/vit/vit.h"
#include "paceline/nn/module_tree.h"
#include "paceline/parallel/batch_norm/sync_batch_norm.h"
#include "paceline/parallel/replicated/replicated_strategy.h"
#include "support/run_ranks.h"

#include <functional>

#include <gtest/gtest.h>

// Activation checkpointing of whole models under a strategy: no bit may differ from training
// without.

namespace paceline::app {
namespace {

using paceline::test::run_ranks;
using MakeNetwork = std::function<std::shared_ptr<nn::Network>()>;

constexpr int kSteps = 2;
const models::VitConfig kVit{
    .num_classes = 5, .img_size = 16, .patch_size = 4, .embed_dim = 32, .depth = 3, .num_heads = 2};

std::shared_ptr<nn::Network> vit(models::FusedMode fused) {
  models::VitConfig config = kVit;
  config.fused = fused;
  return std::make_shared<models::Vit>(config);
}

std::shared_ptr<nn::Network> vit_with_drops(models::FusedMode fused) {
  models::VitConfig config = kVit;
  config.fused = fused;
  config.init_values = 0.5;
  config.proj_drop_rate = 0.1;
  config.attn_drop_rate = 0.1;
  config.drop_path_rate = 0.5;
  return std::make_shared<models::Vit>(config);
}

std::shared_ptr<nn::Network> resnet() {
  return std::make_shared<models::ResNet>(models::ResNetConfig{.num_classes = 5, .layers = {1, 1}});
}

/// Also with groups, means of pixels and padding in its shortcuts, and drops.
std::shared_ptr<nn::Network> resnet_with_drops(models::ResNetShortcut shortcut) {
  return std::make_shared<models::ResNet>(
      models::ResNetConfig{.num_classes = 5,
                           .layers = {1, 1},
                           .block = models::ResNetBlock::kBottleneck,
                           .width = 8,
                           .groups = 2,
                           .width_per_group = 32,
                           .stem = models::ResNetStem::kDeep,
                           .shortcut = shortcut,
                           .drop_rate = 0.2,
                           .drop_path_rate = 0.5});
}

std::shared_ptr<nn::Network> convnext_with_drops(models::FusedMode fused) {
  return std::make_shared<models::ConvNext>(models::ConvNextConfig{.num_classes = 5,
                                                                   .depths = {1, 1, 1, 1},
                                                                   .dims = {8, 8, 8, 8},
                                                                   .ls_init_value = 0.5,
                                                                   .use_grn = true,
                                                                   .conv_mlp = true,
                                                                   .drop_path_rate = 0.5,
                                                                   .fused = fused});
}

std::shared_ptr<nn::Network> efficientnet_with_drops() {
  return std::make_shared<models::EfficientNet>(
      models::EfficientNetShape{8, {{true, 2, 3, 1, 8, 1}, {false, 2, 3, 1, 8, 2}}, 16, 1e-3},
      models::EfficientNetConfig{.num_classes = 5, .drop_path_rate = 0.5});
}

/// All gradients of each step, then parameters and buffers, after steps that are large enough to be
/// seen in what follows them.
std::vector<at::Tensor> train_network(const MakeNetwork& make, comm::Communicator& ranks, int every,
                                      nn::KeptResults kept = nn::KeptResults::kNone,
                                      std::int64_t size = 16) {
  const std::shared_ptr<nn::Network> network = make();
  network->initialize(4);
  parallel::set_sync_batch_norm(*network, ranks);
  if (every > 0) nn::set_activation_checkpointing(*network, every, kept);
  const auto strategy = parallel::make_ddp({.bucket_mib = 0.1}, ranks);
  strategy->prepare(*network, optim::weight_decay_rules(0.0, false, {}));
  std::vector<at::Tensor> found;
  for (int step = 0; step < kSteps; ++step) {
    for (const bool is_last : {false, true}) {  // two microbatches
      const at::Tensor images =
          at::linspace(-2 - ranks.rank(), 2 + step, 3 * 3 * size * size).view({3, 3, size, size});
      strategy->begin_microbatch(!is_last, is_last);
      const at::Tensor outputs = network->forward({{"images", images}}, {.seed = 9, .step = step});
      strategy->backward(outputs.square().sum(), 0.1);
    }
    strategy->finish_gradients();
    const at::NoGradGuard no_grad;
    for (const optim::ParamGroup& group : strategy->param_groups()) {
      for (const auto& slot : group.slots) {
        found.push_back(slot.grad.clone());
        slot.param.sub_(slot.grad, 0.01);
      }
    }
    strategy->state_was_loaded();
  }
  for (const nn::NamedTensor& item : nn::state_dict(*network)) found.push_back(item.tensor);
  return found;
}

void expect_no_bit_differs(const MakeNetwork& make, bool keeps_matmuls = true,
                           std::int64_t size = 16) {
  for (const int world_size : {1, 2}) {
    run_ranks(world_size, [&](comm::Communicator& ranks) {
      const std::vector<at::Tensor> wanted =
          train_network(make, ranks, 0, nn::KeptResults::kNone, size);
      for (const auto& [every, kept] : {std::pair(1, nn::KeptResults::kNone),
                                        {2, nn::KeptResults::kNone},
                                        {1, nn::KeptResults::kMatmuls}}) {
        if (kept == nn::KeptResults::kMatmuls && !keeps_matmuls) continue;
        const std::vector<at::Tensor> actual = train_network(make, ranks, every, kept, size);
        ASSERT_EQ(actual.size(), wanted.size());
        for (std::size_t i = 0; i < wanted.size(); ++i) {
          EXPECT_TRUE(at::equal(actual[i], wanted[i]))
              << "tensor " << i << ", every " << every << ", " << world_size << " ranks"
              << (kept == nn::KeptResults::kMatmuls ? ", matmuls kept" : "");
        }
      }
    });
  }
}

TEST(ActivationCheckpointOfModels, TransformerWithDrops) {
  expect_no_bit_differs([] { return vit_with_drops(models::FusedMode::kOff); });
  expect_no_bit_differs([] { return vit_with_drops(models::FusedMode::kOn); },
                        /*keeps_matmuls=*/false);
}

TEST(ActivationCheckpointOfModels, TransformerOfFusedBlocks) {
  const MakeNetwork make = [] { return vit(models::FusedMode::kOn); };
  expect_no_bit_differs(make, /*keeps_matmuls=*/false);
  run_ranks(1, [&](comm::Communicator& ranks) {
    EXPECT_THROW(train_network(make, ranks, 1, nn::KeptResults::kMatmuls), base::ConfigError);
  });
}

TEST(ActivationCheckpointOfModels, ATransformerThatKeepsMatmulsComputesAsThePlainOne) {
  run_ranks(1, [](comm::Communicator& ranks) {
    const auto wanted = train_network([] { return vit(models::FusedMode::kOff); }, ranks, 0);
    const auto actual = train_network([] { return vit(models::FusedMode::kAuto); }, ranks, 1,
                                      nn::KeptResults::kMatmuls);
    for (std::size_t i = 0; i < wanted.size(); ++i) EXPECT_TRUE(at::equal(actual[i], wanted[i]));
  });
}

TEST(ActivationCheckpointOfModels, TransformerOfPlainBlocks) {
  expect_no_bit_differs([] { return vit(models::FusedMode::kOff); });
}

TEST(ActivationCheckpointOfModels, ConvNextWithDrops) {
  expect_no_bit_differs([] { return convnext_with_drops(models::FusedMode::kOff); },
                        /*keeps_matmuls=*/true, /*size=*/32);
  expect_no_bit_differs([] { return convnext_with_drops(models::FusedMode::kOn); },
                        /*keeps_matmuls=*/false, /*size=*/32);
}

TEST(ActivationCheckpointOfModels, EfficientNetWithDropsAndSynchronisedBatchNorm) {
  expect_no_bit_differs(efficientnet_with_drops);
}

TEST(ActivationCheckpointOfModels, ResidualNetworkWithSynchronisedBatchNorm) {
  expect_no_bit_differs(resnet);
  for (const auto shortcut :
       {models::ResNetShortcut::kAveragePool, models::ResNetShortcut::kPadding})
    expect_no_bit_differs([shortcut] { return resnet_with_drops(shortcut); });
}

}  // namespace
}  // namespace paceline::app
