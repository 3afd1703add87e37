// The counts of docs/scaling.md that saves and loads cost: their own code on up to 1,000 threads.

#include "paceline/app/resume.h"
#include "paceline/checkpoint/reader.h"
#include "paceline/checkpoint/writer.h"
#include "paceline/optim/sgd.h"
#include "rank/checkpoint/saved_runs.h"
#include "rank/comm/nodes/nodes_as_threads.h"
#include "support/block_net.h"
#include "support/counting_communicator.h"
#include "support/opened_files.h"
#include "support/run_ranks.h"
#include "support/strategies.h"
#include "support/temp_folder.h"
#include "support/train_block_net.h"
#include "support/unsynced_file_system.h"

#include <barrier>
#include <map>
#include <mutex>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

namespace paceline::app {
namespace {

namespace fs = std::filesystem;
using comm::CollectiveKind;
using std::chrono::minutes;
using test::CountedCall;

constexpr int kRanksPerNode = 8;

/// So many parameters that each of 1,000 ranks has some.
class OneBlock final : public torch::nn::Module {
 public:
  OneBlock() { register_module("block", std::make_shared<test::LinearBlock>(32, 0, at::kFloat)); }
};

test::MakeStrategy strategy_of(const std::string& name) {
  if (name == "ddp") return test::main_strategies().at(name);
  if (name != "hsdp") return test::sharded_strategies().at(name);
  return [](comm::Communicator& c) {
    return parallel::make_hsdp({}, std::min(kRanksPerNode, c.world_size() / 2), c);
  };
}

/// Counts the files that are made.
class CountedFiles final : public test::UnsyncedFileSystem {
 public:
  std::unique_ptr<base::OutputFile> create(const fs::path& path) override {
    ++made;
    return UnsyncedFileSystem::create(path);
  }
  int made = 0;
};

/// What one rank asks for and opens.
struct RankCounts {
  std::vector<CountedCall> save, load;
  int files_made = 0;
  std::size_t files_read = 0;
};

/// What a save and a load of a rank cost.
RankCounts count_rank(const std::string& strategy_name, const fs::path& folder,
                      comm::Communicator& world) {
  OneBlock net;
  const auto strategy = strategy_of(strategy_name)(world);
  strategy->prepare(net, test::block_net_rules());
  const auto optimizer =
      optim::make_optimizer(optim::SgdConfig{.momentum = 0.9}, strategy->param_groups());
  std::vector<tensor::StateShard> shards = strategy->model_state();
  for (auto& shard : strategy->optimizer_state(*optimizer)) shards.push_back(std::move(shard));

  RankCounts counts;
  CountedFiles files;
  test::CountingCommunicator communicator(world);
  const checkpoint::SaveRequest request{
      .folder = folder, .step = 1, .shards = shards, .state = nlohmann::json::object()};
  const fs::path saved = save_checkpoint(request, communicator, files);
  counts.save = communicator.take_calls();
  counts.files_made = files.made;
  const auto reader = checkpoint::open_checkpoint(saved, communicator);
  load_checkpoint(*reader, shards, checkpoint::ExtraTensors::kRefuse, communicator);
  counts.load = communicator.take_calls();
  counts.files_read = 1 + reader->num_open_files();  // the manifest is one
  return counts;
}

std::vector<RankCounts> count_ranks(const std::string& strategy, int world_size) {
  const test::TempFolder folder;
  std::vector<RankCounts> counts(static_cast<std::size_t>(world_size));
  test::run_ranks(
      world_size,
      [&](comm::Communicator& world) {
        counts[static_cast<std::size_t>(world.rank())] =
            count_rank(strategy, folder.path() / "checkpoints", world);
      },
      minutes(5));
  return counts;
}

/// Does what was asked for, between nodes.
void repeat(const CountedCall& call, comm::NodeCollectives& group) {
  const auto size = static_cast<std::size_t>(call.bytes);
  std::vector<std::int64_t> own(size / 8 + 1);
  if (call.kind == CollectiveKind::kAllReduce) {
    group.all_reduce(own.data(), call.bytes / 8, comm::Element::kInt64, comm::ReduceOp::kSum,
                     minutes(5));
  } else {
    ASSERT_EQ(call.kind, CollectiveKind::kAllGather) << "another one is to be counted, too";
    std::string all(size * static_cast<std::size_t>(group.map().world_size()), '?');
    group.all_gather(all.data(), own.data(), call.bytes, minutes(5));
  }
}

using Cost = test::CountedNetwork::Count;

/// What a node's first rank sends in each of these calls: the one that sends most.
std::map<CountedCall, Cost> costs_of(const std::set<CountedCall>& calls, int num_nodes) {
  test::CountedNetwork network(num_nodes);
  std::map<CountedCall, Cost> costs;
  const std::vector<int> sizes(static_cast<std::size_t>(num_nodes), kRanksPerNode);
  std::barrier all_are_here(static_cast<std::ptrdiff_t>(num_nodes) * kRanksPerNode);
  const auto errors = comm::errors_of_nodes(sizes, network, [&](comm::NodeCollectives& group) {
    for (const CountedCall& call : calls) {
      repeat(call, group);
      all_are_here.arrive_and_wait();
      if (group.map().rank == 0)
        costs[call] = std::ranges::max(network.take_counts(), {}, &Cost::messages);
      all_are_here.arrive_and_wait();
    }
  });
  EXPECT_THAT(errors, ::testing::Each(""));
  return costs;
}

std::string with_commas(std::int64_t number) {
  std::string text = std::to_string(number);
  for (auto i = std::ssize(text) - 3; i > 0; i -= 3) text.insert(static_cast<std::size_t>(i), ",");
  return text;
}

std::string cost_of(const std::vector<CountedCall>& calls,
                    const std::map<CountedCall, Cost>& costs) {
  Cost sum;
  for (const CountedCall& call : calls) {
    sum.messages += costs.at(call).messages;
    sum.bytes += costs.at(call).bytes;
  }
  return fmt::format("{} ({} bytes)", sum.messages, with_commas(sum.bytes));
}

/// "| fsdp | 64 on 8 | 4: 12 (1,000 bytes) | 2; 2 | 5: 15 (900 bytes) | 2; 2 |", of rank 0 and the
/// most of another.
std::string row_of(const std::string& strategy, const std::vector<RankCounts>& counts,
                   const std::map<CountedCall, Cost>& costs) {
  const RankCounts& first = counts.front();
  int made = 0;
  std::size_t read = 0;
  for (std::size_t rank = 1; rank < counts.size(); ++rank) {
    made = std::max(made, counts[rank].files_made);
    read = std::max(read, counts[rank].files_read);
  }
  return fmt::format("| {} | {} on {} | {}: {} | {}; {} | {}: {} | {}; {} |", strategy,
                     with_commas(std::ssize(counts)), counts.size() / kRanksPerNode,
                     first.save.size(), cost_of(first.save, costs), first.files_made, made,
                     first.load.size(), cost_of(first.load, costs), first.files_read, read);
}

/// The document must have these rows. What another strategy costs is the same as under one of them.
void check_document(int world_size, const std::map<std::string, std::string>& same_as) {
  const std::string document = base::read_file(fs::path(PACELINE_SOURCE_DIR) / "docs/scaling.md");
  std::map<std::string, std::vector<RankCounts>> counts;
  std::set<CountedCall> calls;
  for (const auto& [strategy, shown] : same_as) {
    counts[strategy] = count_ranks(strategy, world_size);
    const RankCounts& first = counts[strategy].front();
    calls.insert(first.save.begin(), first.save.end());
    calls.insert(first.load.begin(), first.load.end());
  }
  const auto costs = costs_of(calls, world_size / kRanksPerNode);
  for (const auto& [strategy, shown] : same_as) {
    const std::string row = row_of(shown, counts[strategy], costs);
    EXPECT_NE(document.find(row), std::string::npos) << row;
  }
}

const std::map<std::string, std::string> kAllStrategies{
    {"ddp", "ddp"}, {"zero1", "fsdp"}, {"zero2", "fsdp"}, {"fsdp", "fsdp"}, {"hsdp", "hsdp"}};

TEST(CheckpointCounts, EightRanks) { check_document(8, kAllStrategies); }

TEST(CheckpointCounts, SixtyFourRanks) { check_document(64, kAllStrategies); }

TEST(CheckpointCounts, AThousandRanks) {
  rlimit before{};
  getrlimit(RLIMIT_NOFILE, &before);
  if (before.rlim_max < 8192) GTEST_SKIP() << "1,000 ranks of one process take 5,000 descriptors";
  const rlimit raised{before.rlim_max, before.rlim_max};
  setrlimit(RLIMIT_NOFILE, &raised);
  check_document(1000, {{"ddp", "ddp"}, {"fsdp", "fsdp"}, {"hsdp", "hsdp"}});
  setrlimit(RLIMIT_NOFILE, &before);
}

// Rank 0 alone lists, and of the newest each rank compares a share.
TEST(CheckpointCounts, AResumeOpensEachManifestOnceAndEachFileOfTheNewestOnOneRank) {
  constexpr int kRanks = 4;
  const test::TempFolder folder;
  test::UnsyncedFileSystem files;
  for (const std::int64_t step : {1, 2, 3}) {
    checkpoint::save_model(folder.path() / "checkpoints", step, 0, checkpoint::Layout::kSharded,
                           kRanks, files);
  }
  test::OpenedFiles opened(folder.path());
  test::run_ranks(kRanks, [&](comm::Communicator& communicator) {
    const RunDirectory directory({.wanted = folder.path()}, true, communicator, files);
    const auto reader = open_resumed("auto", directory, files, communicator);
    EXPECT_EQ(reader->directory().filename(), "step-00000003");
    EXPECT_EQ(reader->num_open_files(), 1u);
  });
  const auto counts = opened.take();
  const auto count_of = [&](const std::string& name) {
    const auto found = counts.find("checkpoints/" + name);
    return found == counts.end() ? 0 : found->second;
  };
  for (const std::string step : {"step-00000001/", "step-00000002/"}) {
    EXPECT_EQ(count_of(step + "manifest.json"), 1);
    EXPECT_EQ(count_of(step + "rank-0.safetensors"), 0);
  }
  EXPECT_LE(count_of("step-00000003/manifest.json"), 1 + kRanks);
  for (int rank = 0; rank < kRanks; ++rank)
    EXPECT_EQ(count_of(fmt::format("step-00000003/rank-{}.safetensors", rank)), 1);
}

}  // namespace
}  // namespace paceline::app
