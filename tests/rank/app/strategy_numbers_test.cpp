// ViT and ResNet (BatchNorm synchronised) train to the same weights under every strategy on any
// number of ranks, also by optimizers that need more of a parameter than a rank's part.

#include "paceline/models/resnet/resnet.h"
#include "paceline/models/vit/vit.h"
#include "paceline/optim/adafactor.h"
#include "paceline/optim/layerwise/lamb.h"
#include "paceline/optim/layerwise/lars.h"
#include "paceline/optim/muon.h"
#include "paceline/optim/sgd.h"
#include "paceline/parallel/adaptive_clipper.h"
#include "paceline/parallel/batch_norm/sync_batch_norm.h"
#include "paceline/parallel/gradient_clipping.h"
#include "paceline/parallel/replicated/replicated_strategy.h"
#include "support/run_ranks.h"
#include "support/strategies.h"
#include "support/train_block_net.h"

#include <gtest/gtest.h>

namespace paceline::app {
namespace {

constexpr std::int64_t kPixels = 16;

/// A network of the models, in float64.
struct Net {
  std::shared_ptr<nn::Network> network;
};

at::Tensor summed_loss(const Net& net, std::int64_t first, std::int64_t count) {
  const at::Tensor images =
      test::wave({test::kRaggedBatch, 3, kPixels, kPixels}, 3).narrow(0, first, count);
  const at::Tensor targets = test::wave({test::kRaggedBatch, 5}, 5).narrow(0, first, count);
  return (net.network->forward({{"images", images}}, {}) - targets).square().sum();
}

std::shared_ptr<nn::Network> small_vit() {
  return std::make_shared<models::Vit>(models::VitConfig{.num_classes = 5,
                                                         .img_size = kPixels,
                                                         .patch_size = 8,
                                                         .embed_dim = 12,
                                                         .depth = 3,
                                                         .num_heads = 2});
}

std::shared_ptr<nn::Network> small_resnet() {
  return std::make_shared<models::ResNet>(
      models::ResNetConfig{.num_classes = 5, .layers = {1, 1, 1, 1}, .width = 4});
}

template <class Config>
std::shared_ptr<const optim::OptimizerPlan> plan(Config config) {
  config.weight_decay = 0.01;
  return optim::make(config);
}

struct Training {
  std::function<std::shared_ptr<nn::Network>()> make;
  int num_microbatches;  ///< batch statistics are those of a microbatch, so ResNet has one
  std::shared_ptr<const optim::OptimizerPlan> optimizer = plan(optim::SgdConfig{.momentum = 0.9});
  double lr = 0.02;  ///< at which differences in rounding do not grow
  bool clips_adaptively = false;
};

const std::map<std::string, Training> kTrainings{
    {"vit", {small_vit, 3}},
    {"resnet", {small_resnet, 1}},
    {"vit_by_lamb", {small_vit, 3, plan(optim::LambConfig{})}},
    {"resnet_by_lars", {small_resnet, 1, plan(optim::LarsConfig{})}},
    {"vit_by_muon", {small_vit, 3, plan(optim::MuonConfig{})}},
    // With its usual eps1 what is no more than rounding would be as long a step as any other.
    {"resnet_by_adafactor", {small_resnet, 1, plan(optim::AdafactorConfig{.eps1 = 1e-4}), 2e-3}},
    {"resnet_clipped_adaptively",
     {.make = small_resnet, .num_microbatches = 1, .clips_adaptively = true}}};

std::vector<tensor::StateShard> train(const Training& training, const Net& net,
                                      parallel::Strategy& strategy, comm::Communicator& ranks) {
  nn::set_dtype(*net.network, at::kDouble);
  nn::set_channels_last(*net.network);
  net.network->initialize(7);
  parallel::set_sync_batch_norm(*net.network, ranks);
  strategy.prepare(*net.network, training.optimizer->rules);
  const auto optimizer =
      training.optimizer->make(strategy.param_groups(), strategy.parameter_shards());
  const test::Share share(ranks.rank(), ranks.world_size());
  for (int step = 0; step < 30; ++step) {
    test::ragged_step(strategy, net, share, training.num_microbatches);
    if (training.clips_adaptively) {
      parallel::AdaptiveClipper(strategy, {.threshold = 0.02, .floor = 1e-3}).clip();
    } else {
      parallel::clip_grad_norm(strategy, 0.5);
    }
    optimizer->step(training.lr);
  }
  return strategy.model_state();
}

std::map<std::string, at::Tensor> weights_of_one_rank(const Training& training) {
  std::map<std::string, at::Tensor> weights;
  test::run_ranks(1, [&](comm::Communicator& alone) {
    const Net net{training.make()};
    const auto strategy = parallel::make_none({});
    for (const tensor::StateShard& shard : train(training, net, *strategy, alone))
      weights[shard.name] = shard.data.clone();
  });
  return weights;
}

class StrategyNumbers : public testing::TestWithParam<std::string> {};

TEST_P(StrategyNumbers, AreThoseOfOneRank) {
  const Training& training = kTrainings.at(GetParam());
  const auto expected = weights_of_one_rank(training);
  for (const auto& [name, make] : test::main_strategies()) {
    for (const int world_size : {1, 2, 4}) {
      SCOPED_TRACE(name + " on " + std::to_string(world_size));
      test::run_ranks(world_size, [&, &make = make](comm::Communicator& ranks) {
        const Net net{training.make()};
        const auto strategy = make(ranks);
        for (const tensor::StateShard& shard : train(training, net, *strategy, ranks)) {
          const at::Tensor wanted = test::elements_of(expected.at(shard.name), shard);
          EXPECT_LE((shard.data.reshape({-1}) - wanted).abs().max().item<double>(), 1e-10)
              << shard.name;
        }
      });
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, StrategyNumbers,
                         testing::Values("vit", "resnet", "vit_by_lamb", "resnet_by_lars",
                                         "vit_by_muon", "resnet_by_adafactor",
                                         "resnet_clipped_adaptively"),
                         [](const auto& of) { return of.param; });

}  // namespace
}  // namespace paceline::app
