#include "paceline/checkpoint/replica_check.h"

#include "paceline/base/error.h"
#include "paceline/base/hash.h"
#include "paceline/base/json.h"
#include "paceline/comm/agreement.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include <nlohmann/json.hpp>

namespace paceline::checkpoint {
namespace {

using tensor::StateShard;
using Json = nlohmann::json;

/// What makes two shards replicas of each other: name, begin and end.
using Key = std::tuple<std::string, std::int64_t, std::int64_t>;
/// The ranks by the hash that they have.
using Holders = std::map<std::uint64_t, std::vector<int>>;

/// Replicas have the same memory layout, so bytes are compared as they lie.
std::uint64_t hash_of(const StateShard& shard) {
  at::Tensor data = shard.data.detach().to(at::kCPU);
  if (!data.is_non_overlapping_and_dense()) data = data.contiguous();
  return base::xxh3({static_cast<const char*>(data.const_data_ptr()), data.nbytes()});
}

std::string describe(const Holders& holders) {
  std::vector<std::string> groups;
  for (const auto& [hash, ranks] : holders) {
    groups.push_back(fmt::format("rank{} {}", ranks.size() > 1 ? "s" : "", fmt::join(ranks, ", ")));
  }
  std::sort(groups.begin(), groups.end());
  return fmt::format("{}", fmt::join(groups, " against "));
}

}  // namespace

void check_replicas(std::span<const StateShard> shards, comm::Communicator& communicator) {
  Json own = Json::array();
  for (const StateShard& shard : shards) {
    if (shard.is_replicated) own.push_back({shard.name, shard.begin, shard.end, hash_of(shard)});
  }
  const std::string report = own.dump();
  if (comm::is_same_on_all_ranks(communicator, report)) return;  // as under ddp
  const std::vector<std::string> reports = communicator.all_gather_text(report);
  std::map<Key, Holders> replicas;
  for (std::size_t rank = 0; rank < reports.size(); ++rank) {
    for (const Json& shard : base::parse_json(reports[rank])) {
      replicas[shard.get<Key>()][shard[3]].push_back(static_cast<int>(rank));
    }
  }
  constexpr std::size_t kShown = 10;
  std::vector<std::string> lines;
  std::size_t num_different = 0;
  for (const auto& [key, holders] : replicas) {
    if (holders.size() < 2 || ++num_different > kShown) continue;
    lines.push_back(fmt::format("{}: {}", std::get<0>(key), describe(holders)));
  }
  if (num_different == 0) return;
  throw base::DivergedError(fmt::format(
      "the ranks' copies of the model differ in {} of {} tensors:\n  {}{}\nA rank has computed or "
      "received other numbers than its peers: test its machine's memory, and resume from a "
      "checkpoint",
      num_different, replicas.size(), fmt::join(lines, "\n  "),
      num_different > kShown ? "\n  ..." : ""));
}

}  // namespace paceline::checkpoint
