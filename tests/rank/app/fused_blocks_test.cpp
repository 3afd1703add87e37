// Blocks of one node, of ViTs and ConvNeXts, train under every strategy as blocks of one node per
// operation do, with all that drops and under autocast.

#include "paceline/models/convnext/convnext.h"
#include "paceline/models/vit/vit.h"
#include "paceline/optim/sgd.h"
#include "paceline/tensor/autocast.h"
#include "support/run_ranks.h"
#include "support/strategies.h"
#include "support/train_block_net.h"

#include <optional>

#include <gtest/gtest.h>

namespace paceline::app {
namespace {

constexpr int kBlockPixels = 32;

struct FusedNet {
  std::shared_ptr<nn::Network> network;
  std::optional<at::ScalarType> autocast;
  std::int64_t step = 0;
};

at::Tensor summed_loss(const FusedNet& net, std::int64_t first, std::int64_t count) {
  const at::Tensor images =
      test::wave({test::kRaggedBatch, 3, kBlockPixels, kBlockPixels}, 3).narrow(0, first, count);
  const at::Tensor targets = test::wave({test::kRaggedBatch, 5}, 5).narrow(0, first, count);
  const tensor::AutocastGuard autocast(at::kCPU, net.autocast);
  const at::Tensor outputs =
      net.network->forward({{"images", images.to(net.autocast ? at::kFloat : at::kDouble)}},
                           {.seed = 3, .step = net.step, .first_position = first});
  return (outputs - targets).square().sum();
}

std::shared_ptr<nn::Network> vit_that_drops(models::FusedMode fused) {
  return std::make_shared<models::Vit>(models::VitConfig{.num_classes = 5,
                                                         .img_size = kBlockPixels,
                                                         .patch_size = 16,
                                                         .embed_dim = 16,
                                                         .depth = 3,
                                                         .num_heads = 2,
                                                         .init_values = 0.5,
                                                         .drop_rate = 0.1,
                                                         .pos_drop_rate = 0.1,
                                                         .proj_drop_rate = 0.1,
                                                         .attn_drop_rate = 0.1,
                                                         .drop_path_rate = 0.5,
                                                         .fused = fused});
}

std::shared_ptr<nn::Network> convnext_that_drops(models::FusedMode fused) {
  return std::make_shared<models::ConvNext>(models::ConvNextConfig{.num_classes = 5,
                                                                   .depths = {1, 1, 2, 1},
                                                                   .dims = {8, 8, 8, 8},
                                                                   .ls_init_value = 0.5,
                                                                   .use_grn = true,
                                                                   .drop_rate = 0.1,
                                                                   .drop_path_rate = 0.5,
                                                                   .fused = fused});
}

using MakeFused = std::shared_ptr<nn::Network> (*)(models::FusedMode fused);

std::map<std::string, at::Tensor> trained(MakeFused make, models::FusedMode fused,
                                          std::optional<at::ScalarType> autocast,
                                          parallel::Strategy& strategy, comm::Communicator& ranks) {
  FusedNet net{make(fused), autocast};
  nn::set_dtype(*net.network, autocast ? at::kFloat : at::kDouble);
  net.network->initialize(7);
  const auto plan = optim::make(optim::SgdConfig{.momentum = 0.9});
  strategy.prepare(*net.network, plan->rules);
  const auto optimizer = plan->make(strategy.param_groups(), strategy.parameter_shards());
  const test::Share share(ranks.rank(), ranks.world_size());
  for (; net.step < 5; ++net.step) {
    test::ragged_step(strategy, net, share, /*num_microbatches=*/3);
    optimizer->step(0.02);
  }
  std::map<std::string, at::Tensor> weights;
  for (const tensor::StateShard& shard : strategy.model_state())
    weights[shard.name] = shard.data.clone();
  return weights;
}

void expect_trained_alike(MakeFused make_network, std::optional<at::ScalarType> autocast,
                          double tolerance) {
  for (const auto& [name, make] : test::main_strategies()) {
    for (const int world_size : {1, 2}) {
      SCOPED_TRACE(name + " on " + std::to_string(world_size));
      test::run_ranks(world_size, [&, &make = make](comm::Communicator& ranks) {
        const auto one = make(ranks);
        const auto fused = trained(make_network, models::FusedMode::kOn, autocast, *one, ranks);
        const auto other = make(ranks);
        const auto plain = trained(make_network, models::FusedMode::kOff, autocast, *other, ranks);
        for (const auto& [parameter, values] : plain) {
          if (values.numel() == 0) continue;
          EXPECT_LE((fused.at(parameter) - values).abs().max().item<double>(), tolerance)
              << parameter;
        }
      });
    }
  }
}

TEST(FusedVit, TrainsAsItsTwinUnderEveryStrategy) {
  expect_trained_alike(vit_that_drops, std::nullopt, 1e-11);
}

TEST(FusedVit, TrainsAsItsTwinUnderEveryStrategyInBfloat16) {
  expect_trained_alike(vit_that_drops, at::kBFloat16, 1e-3);
}

TEST(FusedConvNext, TrainsAsItsTwinUnderEveryStrategy) {
  expect_trained_alike(convnext_that_drops, std::nullopt, 1e-11);
}

TEST(FusedConvNext, TrainsAsItsTwinUnderEveryStrategyInBfloat16) {
  expect_trained_alike(convnext_that_drops, at::kBFloat16, 1e-3);
}

}  // namespace
}  // namespace paceline::app
