// A checkpoint saved under any strategy on any number of ranks loads, bit for bit, under any other.

#include "paceline/checkpoint/reader.h"
#include "paceline/checkpoint/writer.h"
#include "support/run_ranks.h"
#include "support/strategies.h"
#include "support/train_block_net.h"
#include "support/unsynced_file_system.h"

#include <array>
#include <string>

#include <gtest/gtest.h>

namespace paceline::app {
namespace {

namespace fs = std::filesystem;
using test::BlockNet;

struct Layout {
  std::string name;
  int world_size;
  test::MakeStrategy make;
};

std::vector<Layout> layouts() {
  std::vector<Layout> all{{"none", 1, [](comm::Communicator&) { return parallel::make_none({}); }}};
  for (const auto& [name, make] : test::main_strategies()) {
    for (const int ranks : {1, 2, 4}) {
      if (name != "hsdp" || ranks == 4) all.push_back({name, ranks, make});
    }
  }
  return all;
}

/// One rank's model under a strategy, with an optimizer whose state holds values.
class Replica {
 public:
  Replica(const Layout& layout, comm::Communicator& communicator, double phase)
      : net_(phase), strategy_(layout.make(communicator)) {
    strategy_->prepare(net_, test::block_net_rules());
    optimizer_ = optim::make_optimizer(optim::AdamWConfig{}, strategy_->param_groups());
    for (int step = 0; step < 2; ++step) {
      strategy_->begin_microbatch(true, true);
      strategy_->backward(test::summed_loss(net_, 2 * communicator.rank(), 2), 1.0);
      strategy_->finish_gradients();
      optimizer_->step(0.1);
    }
  }
  std::vector<tensor::StateShard> shards() {
    std::vector<tensor::StateShard> all = strategy_->model_state();
    for (tensor::StateShard& shard : strategy_->optimizer_state(*optimizer_))
      all.push_back(std::move(shard));
    return all;
  }

 private:
  BlockNet net_;
  std::unique_ptr<parallel::Strategy> strategy_;
  std::unique_ptr<optim::Optimizer> optimizer_;
};

fs::path save(const Layout& layout, const fs::path& folder, std::int64_t step) {
  fs::path path;
  test::UnsyncedFileSystem files;
  test::run_ranks(layout.world_size, [&](comm::Communicator& communicator) {
    Replica replica(layout, communicator, static_cast<double>(step));
    const std::vector<tensor::StateShard> shards = replica.shards();
    checkpoint::SaveRequest request;
    request.folder = folder;
    request.step = step;
    request.shards = shards;
    const fs::path saved = save_checkpoint(request, communicator, files);
    if (communicator.rank() == 0) path = saved;
  });
  return path;
}

void expect_loads(const Layout& layout, const fs::path& path) {
  test::run_ranks(layout.world_size, [&](comm::Communicator& communicator) {
    Replica replica(layout, communicator, 77);
    const auto reader = checkpoint::open_checkpoint(path, communicator);
    load_checkpoint(*reader, replica.shards(), checkpoint::ExtraTensors::kRefuse, communicator);
    for (const tensor::StateShard& shard : replica.shards()) {
      const at::Tensor wanted = test::elements_of(reader->tensor(shard.name), shard);
      EXPECT_TRUE(shard.data.reshape({-1}).equal(wanted)) << shard.name;
    }
  });
}

TEST(StrategyMatrix, WhatOneLayoutSavesEveryLayoutLoads) {
  const base::TempDir folder("paceline-matrix");
  const std::vector<Layout> all = layouts();
  std::int64_t step = 0;
  for (const Layout& from : all) {
    const fs::path path = save(from, folder.path(), ++step);
    for (const Layout& to : all) {
      SCOPED_TRACE(from.name + " on " + std::to_string(from.world_size) + " to " + to.name +
                   " on " + std::to_string(to.world_size));
      expect_loads(to, path);
    }
  }
}

TEST(StrategyMatrix, WhatEachRankHasOfItsOwnLoadsOnAsManyRanksOnly) {
  const base::TempDir folder("paceline-per-rank");
  Layout layout{"ddp with powersgd", 2, [](comm::Communicator& communicator) {
                  return parallel::make_ddp(
                      {.compression = parallel::Compression::kPowerSgd, .powersgd_start = 0},
                      communicator);
                }};
  const fs::path path = save(layout, folder.path(), 1);
  expect_loads(layout, path);
  layout.world_size = 4;
  test::run_ranks(4, [&](comm::Communicator& communicator) {
    Replica replica(layout, communicator, 77);
    std::map<std::string, at::Tensor> before;
    for (const tensor::StateShard& shard : replica.shards()) {
      before.emplace(shard.name, shard.data.clone());
    }
    const auto reader = checkpoint::open_checkpoint(path, communicator);
    load_checkpoint(*reader, replica.shards(), checkpoint::ExtraTensors::kRefuse, communicator);
    int num_per_rank = 0;
    for (const tensor::StateShard& shard : replica.shards()) {
      if (!shard.is_per_rank) continue;
      EXPECT_TRUE(shard.data.equal(before.at(shard.name))) << shard.name;
      EXPECT_GT(shard.data.count_nonzero().item<std::int64_t>(), 0) << shard.name;
      ++num_per_rank;
    }
    EXPECT_GT(num_per_rank, 0);
  });
}

}  // namespace
}  // namespace paceline::app
