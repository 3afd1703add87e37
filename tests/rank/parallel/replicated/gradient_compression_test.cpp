#include "paceline/parallel/replicated/gradient_compression.h"

#include "paceline/optim/sgd.h"
#include "paceline/parallel/replicated/distributed_data_parallel.h"
#include "paceline/parallel/replicated/replicated_strategy.h"
#include "support/ragged_step.h"
#include "support/run_ranks.h"
#include "support/small_net.h"

#include <map>

#include <gtest/gtest.h>

namespace paceline::parallel {
namespace {

using paceline::test::ragged_step;
using paceline::test::run_ranks;
using paceline::test::Share;
using paceline::test::SmallNet;

const std::vector<GroupRule> kRulesOfCompression = optim::weight_decay_rules(0.01, false, {});

DdpConfig compressed_by(std::optional<Compression> compression) {
  return {.first_bucket_mib = 0.0005,
          .bucket_mib = 0.001,
          .compression = compression,
          .powersgd_rank = 2,
          .powersgd_start = 2};
}

/// One rank's training, to be stopped and resumed.
class CompressedTraining {
 public:
  CompressedTraining(const DdpConfig& config, comm::Communicator& communicator)
      : strategy_(make_ddp(config, communicator)),
        share_(communicator.rank(), communicator.world_size()) {
    strategy_->prepare(net_, kRulesOfCompression);
    optimizer_ =
        optim::make_optimizer(optim::SgdConfig{.momentum = 0.9}, strategy_->param_groups());
  }
  void run(int steps, int num_microbatches) {
    for (int step = 0; step < steps; ++step) {
      ragged_step(*strategy_, net_, share_, num_microbatches);
      optimizer_->step(0.05);
    }
  }
  std::vector<StateShard> state() {
    std::vector<StateShard> all = strategy_->model_state();
    for (StateShard& shard : strategy_->optimizer_state(*optimizer_)) all.push_back(shard);
    return all;
  }
  void load(const std::map<std::string, at::Tensor>& saved, std::int64_t num_steps) {
    const at::NoGradGuard no_grad;
    for (const StateShard& shard : state()) shard.data.copy_(saved.at(shard.name));
    optimizer_->set_num_steps(num_steps);
  }
  at::Tensor weights() const {
    std::vector<at::Tensor> parts;
    for (const at::Tensor& parameter : net_.parameters()) parts.push_back(parameter.reshape({-1}));
    return at::cat(parts).detach().clone();
  }

 private:
  SmallNet net_;
  std::unique_ptr<ReplicatedStrategy> strategy_;
  Share share_;
  std::unique_ptr<optim::Optimizer> optimizer_;
};

at::Tensor trained_with(std::optional<Compression> compression, comm::Communicator& communicator,
                        int num_microbatches) {
  CompressedTraining training(compressed_by(compression), communicator);
  training.run(10, num_microbatches);
  return training.weights();
}

class EveryCompression : public testing::TestWithParam<Compression> {};

TEST_P(EveryCompression, ComesCloseToWhatItCompressesButIsNotIt) {
  run_ranks(2, [](comm::Communicator& communicator) {
    const at::Tensor exact = trained_with(std::nullopt, communicator, 1);
    const at::Tensor actual = trained_with(GetParam(), communicator, 1);
    const double moved = (exact - SmallNet().parameters()[0].new_zeros({1})).norm().item<double>();
    const double distance = (actual - exact).norm().item<double>();
    EXPECT_GT(distance, 0.0);
    EXPECT_LT(distance, 0.05 * moved);
  });
}

TEST_P(EveryCompression, CompressesTheSumOfMicrobatches) {
  run_ranks(2, [](comm::Communicator& communicator) {
    const at::Tensor whole = trained_with(GetParam(), communicator, 1);
    const at::Tensor in_parts = trained_with(GetParam(), communicator, 3);
    // A last bit of a gradient may be the next 16-bit number.
    const double tolerance = GetParam() == Compression::kPowerSgd ? 1e-9 : 1e-3;
    EXPECT_LE((whole - in_parts).abs().max().item<double>(), tolerance);
  });
}

TEST_P(EveryCompression, ResumesWithTheSameBits) {
  run_ranks(2, [](comm::Communicator& communicator) {
    CompressedTraining first(compressed_by(GetParam()), communicator);
    first.run(5, 2);
    std::map<std::string, at::Tensor> saved;
    for (const StateShard& shard : first.state()) saved.emplace(shard.name, shard.data.clone());
    first.run(4, 2);

    CompressedTraining second(compressed_by(GetParam()), communicator);
    second.load(saved, 5);
    second.run(4, 2);
    EXPECT_TRUE(second.weights().equal(first.weights()));
  });
}

INSTANTIATE_TEST_SUITE_P(All, EveryCompression,
                         testing::Values(Compression::kFloat16, Compression::kBFloat16,
                                         Compression::kPowerSgd));

TEST(GradientCompression, WorksUnderAnOwnLoop) {
  run_ranks(2, [](comm::Communicator& communicator) {
    const auto gradient = [&](std::optional<Compression> compression) {
      SmallNet net;
      DistributedDataParallel ddp(net, communicator, {.buckets = compressed_by(compression)});
      test::summed_loss(net, 4 * communicator.rank(), 4).backward();
      ddp.finish_gradients();
      return net.hidden_weight.grad().clone();
    };
    const at::Tensor exact = gradient(std::nullopt);
    const at::Tensor rounded = gradient(Compression::kFloat16);
    EXPECT_FALSE(rounded.equal(exact));
    EXPECT_TRUE(at::allclose(rounded, exact, 2e-3, 1e-5));
  });
}

}  // namespace
}  // namespace paceline::parallel
