#include "paceline/algorithms/ghost_batchnorm/ghost_batchnorm.h"

#include "paceline/base/error.h"
#include "paceline/base/log.h"
#include "paceline/comm/fake/fake_communicator.h"
#include "paceline/models/resnet/resnet.h"
#include "paceline/models/vit/vit.h"
#include "paceline/nn/batch_norm.h"
#include "paceline/nn/rerun.h"
#include "paceline/train/run_context.h"
#include "paceline/train/tasks/classification.h"
#include "paceline/train/train_state.h"
#include "support/small_net.h"

#include <atomic>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::algorithms {
namespace {

using paceline::test::wave;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

at::Tensor ghost_images(std::int64_t count) { return wave({count, 2, 3, 3}, 1, at::kFloat); }

TEST(GhostBatchNorm, PartsAreNormalisedForThemselves) {
  nn::BatchNorm2d ghost(2);
  nn::BatchNorm2d plain(2, 1e-5, 0.1 / 3);
  EXPECT_EQ(set_ghost_batch_norm(ghost, 2), 1);
  const at::Tensor input = ghost_images(5);
  const at::Tensor output = ghost.forward(input);
  std::vector<at::Tensor> parts;
  for (const at::Tensor& part : {input.slice(0, 0, 2), input.slice(0, 2, 4), input.slice(0, 4)})
    parts.push_back(plain.forward(part));
  EXPECT_TRUE(output.equal(at::cat(parts)));
  EXPECT_TRUE(ghost.running_mean.equal(plain.running_mean));
  EXPECT_TRUE(ghost.running_var.equal(plain.running_var));
  EXPECT_EQ(ghost.num_batches_tracked.item<std::int64_t>(), 1) << "of batches, not of parts";
}

TEST(GhostBatchNorm, PartsAreAsLargeAsTheyCanBeAlike) {
  nn::BatchNorm2d ghost(2);
  nn::BatchNorm2d plain(2);
  set_ghost_batch_norm(ghost, 5);
  const at::Tensor input = ghost_images(6);  // three and three, not five and one
  EXPECT_TRUE(ghost.forward(input).slice(0, 0, 3).equal(plain.forward(input.slice(0, 0, 3))));
  set_ghost_batch_norm(plain, 6);
  nn::BatchNorm2d whole(2);
  EXPECT_TRUE(plain.forward(input).equal(whole.forward(input)));
}

TEST(GhostBatchNorm, EvaluationsSeeAPlainBatchNorm) {
  nn::BatchNorm2d ghost(2);
  nn::BatchNorm2d plain(2);
  set_ghost_batch_norm(ghost, 2);
  ghost.eval();
  plain.eval();
  EXPECT_TRUE(ghost.forward(ghost_images(3)).equal(plain.forward(ghost_images(3))));
}

TEST(GhostBatchNorm, ARecomputationMovesNothing) {
  nn::BatchNorm2d ghost(2);
  set_ghost_batch_norm(ghost, 2);
  nn::Rerun rerun;
  const auto run = [&] {
    const nn::Rerun::Scope scope(rerun);
    return ghost.forward(ghost_images(4));
  };
  const at::Tensor first = run();
  const at::Tensor mean = ghost.running_mean.clone();
  EXPECT_TRUE(run().equal(first));
  EXPECT_TRUE(ghost.running_mean.equal(mean));
}

TEST(GhostBatchNorm, RefusesPartsOfOneValue) {
  nn::BatchNorm2d ghost(2);
  set_ghost_batch_norm(ghost, 1);
  EXPECT_THAT(
      [&] {
        ghost.forward(at::ones({2, 2, 1, 1}));
      },
      ThrowsMessage<base::ConfigError>(HasSubstr("larger ghost_batch_size")));
}

void apply_ghosts(std::shared_ptr<nn::Network> network) {
  const auto communicator = comm::make_fake_communicator(0, 1);
  const std::atomic<int> no_signal{0};
  const train::RunContext run{*communicator, {}, 1, {}, no_signal};
  const base::LogRedirection quiet([](base::LogLevel, std::string_view) {});
  train::TrainState state;
  state.task = std::make_unique<train::ClassificationTask>(std::move(network), nullptr);
  GhostBatchNorm algorithm({.ghost_batch_size = 4});
  EXPECT_EQ(algorithm.traits().least_samples, 4);
  EXPECT_FALSE(algorithm.traits().changes_network) << "weights mean the same without";
  algorithm.apply(train::Event::kInit, state, run);
}

std::shared_ptr<models::ResNet> network_of_three_norms() {
  return std::make_shared<models::ResNet>(
      models::ResNetConfig{.num_classes = 5, .layers = {1}, .width = 8});
}

TEST(GhostBatchNorm, LeavesFrozenNormsAlone) {
  const auto network = network_of_three_norms();
  nn::BatchNorm2d* first = nullptr;
  int num_ghosts = 0;
  const auto norms = [&](const auto& use) {
    network->apply([&](torch::nn::Module& below) {
      if (auto* const norm = below.as<nn::BatchNorm2d>()) use(*norm);
    });
  };
  norms([&](nn::BatchNorm2d& norm) {
    if (first == nullptr) first = &norm;
  });
  first->set_frozen(true);
  apply_ghosts(network);
  norms([&](const nn::BatchNorm2d& norm) { num_ghosts += norm.has_training_kernel() ? 1 : 0; });
  EXPECT_EQ(num_ghosts, 2);
  EXPECT_FALSE(first->has_training_kernel());
}

TEST(GhostBatchNorm, RefusesNetworksThatItWouldNotChange) {
  const auto frozen = network_of_three_norms();
  nn::set_batch_norm_frozen(*frozen, true);
  const auto vit = std::make_shared<models::Vit>(models::VitConfig{.num_classes = 2,
                                                                   .img_size = 8,
                                                                   .patch_size = 4,
                                                                   .embed_dim = 8,
                                                                   .depth = 1,
                                                                   .num_heads = 2});
  for (const std::shared_ptr<nn::Network>& network :
       {std::shared_ptr<nn::Network>(frozen), std::shared_ptr<nn::Network>(vit)}) {
    EXPECT_THAT([&] { apply_ghosts(network); },
                ThrowsMessage<base::ConfigError>(HasSubstr("finds no BatchNorm")));
  }
}

TEST(GhostBatchNorm, RefusesNormsThatRanksShare) {
  const auto network = network_of_three_norms();
  network->apply([](torch::nn::Module& below) {
    if (auto* const norm = below.as<nn::BatchNorm2d>())
      norm->set_training_kernel(
          [](const at::Tensor& input, const nn::BatchNorm2d&) { return input; });
  });
  EXPECT_THAT([&] { apply_ghosts(network); },
              ThrowsMessage<base::ConfigError>(HasSubstr("parallel.sync_batch_norm")));
}

}  // namespace
}  // namespace paceline::algorithms
