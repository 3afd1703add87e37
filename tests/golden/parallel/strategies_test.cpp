// Weights after 30 steps against torch's DistributedDataParallel and fully_shard, whose results are
// one; see make_strategies.py.

#include "support/strategies.h"

#include "paceline/parallel/replicated/replicated_strategy.h"
#include "support/run_ranks.h"
#include "support/train_block_net.h"

#include <fstream>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace paceline::parallel {
namespace {

using test::BlockNet;
using test::BlockNetTraining;

const std::map<std::string, BlockNetTraining> kVariants{
    {"plain", {}},
    {"microbatches", {.num_microbatches = 3}},
    {"tied", {.net = {.ties_blocks = true}, .num_microbatches = 2}},
    {"frozen", {.net = {.freezes_first_blocks = true}, .num_microbatches = 2}}};

nlohmann::json golden_strategies() {
  std::ifstream file(PACELINE_GOLDEN_DIR "/strategies.json");
  return nlohmann::json::parse(file);
}

void expect_golden(std::span<const StateShard> shards, const nlohmann::json& expected) {
  for (const StateShard& shard : shards) {
    if (shard.name == "seen") continue;  // the buffer is ours alone
    const auto values = expected.at(shard.name).get<std::vector<double>>();
    const at::Tensor whole = at::tensor(values, at::kDouble).view(shard.shape);
    const at::Tensor wanted = test::elements_of(whole, shard);
    EXPECT_LE((shard.data.reshape({-1}) - wanted).abs().max().item<double>(), 1e-10) << shard.name;
  }
}

TEST(GoldenStrategies, WeightsAreThoseOfTorchsDdpAndFullyShard) {
  const nlohmann::json golden = golden_strategies();
  for (const auto& [variant, training] : kVariants) {
    for (const auto& [name, make] : test::main_strategies()) {
      for (const int world_size : {2, 4}) {
        SCOPED_TRACE(variant + ", " + name + " on " + std::to_string(world_size));
        test::run_ranks(world_size, [&](comm::Communicator& communicator) {
          const auto strategy = make(communicator);
          BlockNet net(0, training.net);
          test::train(*strategy, net, communicator.rank(), world_size, training);
          expect_golden(strategy->model_state(), golden.at(variant));
        });
      }
    }
  }
}

}  // namespace
}  // namespace paceline::parallel
