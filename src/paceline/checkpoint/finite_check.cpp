#include "paceline/checkpoint/finite_check.h"

#include <cstddef>
#include <set>
#include <sstream>
#include <vector>

#include <fmt/ranges.h>

namespace paceline::checkpoint {
namespace {

using tensor::StateShard;

/// Whether the values are what they must be, element by element.
bool is_good(const StateShard& shard) {
  const at::Tensor bad = shard.is_buffer ? shard.data.isnan() : shard.data.isfinite().logical_not();
  return !bad.any().item<bool>();
}

/// Those of the shards that hold a value which is not finite. No sum hides one, so only where the
/// sum is not finite, which many large values can do, too, elements are looked at. The sums are
/// read at once, since a device that queues its work waits for every read.
std::set<std::string> names_of_bad(std::span<const StateShard> shards) {
  const at::NoGradGuard no_grad;
  std::vector<const StateShard*> candidates;
  std::vector<at::Tensor> sums;
  for (const StateShard& shard : shards) {
    if (!shard.data.is_floating_point() || shard.data.numel() == 0) continue;
    candidates.push_back(&shard);
    sums.push_back(shard.data.sum().to(at::kDouble));
  }
  std::set<std::string> names;
  if (sums.empty()) return names;
  const at::Tensor is_finite = at::stack(sums).isfinite().to(at::kCPU);
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    if (is_finite.const_data_ptr<bool>()[i] || is_good(*candidates[i])) continue;
    names.insert(candidates[i]->name);
  }
  return names;
}

}  // namespace

std::string find_non_finite(std::span<const StateShard> shards, comm::Communicator& communicator) {
  std::set<std::string> names;
  const std::string own = fmt::format("{}", fmt::join(names_of_bad(shards), "\n"));
  for (const std::string& text : communicator.all_gather_text(own)) {
    std::istringstream lines(text);
    for (std::string name; std::getline(lines, name);) names.insert(name);
  }
  if (names.empty()) return {};
  constexpr std::size_t kShown = 10;
  std::vector<std::string> shown(names.begin(), names.end());
  if (shown.size() > kShown) {
    shown.resize(kShown);
    shown.emplace_back("...");
  }
  return fmt::format("{} of its tensors hold{} NaN or infinite values: {}", names.size(),
                     names.size() == 1 ? "s" : "", fmt::join(shown, ", "));
}

}  // namespace paceline::checkpoint
