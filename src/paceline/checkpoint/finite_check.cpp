#include "paceline/checkpoint/finite_check.h"

#include "paceline/base/error.h"
#include "paceline/comm/agreement.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <set>
#include <sstream>
#include <vector>

#include <fmt/ranges.h>

namespace paceline::checkpoint {
namespace {

using tensor::StateShard;

/// Whether all numbers are finite, or at least none is NaN. `exponent` has all bits of a number's
/// exponent set, as infinity has and no finite number; NaN has more.
template <typename Bits>
bool are_good(const at::Tensor& numbers, Bits exponent, bool allows_infinity) {
  constexpr std::int64_t kBlock = 4096;  // between two looks whether one was bad
  constexpr Bits kMagnitude = std::numeric_limits<Bits>::max() >> 1;
  const Bits largest = allows_infinity ? exponent : static_cast<Bits>(exponent - 1);
  const auto* bits = static_cast<const Bits*>(numbers.const_data_ptr());
  const std::int64_t count = numbers.numel();
  for (std::int64_t begin = 0; begin < count; begin += kBlock) {
    const std::int64_t end = std::min(count, begin + kBlock);
    Bits most = 0;
    for (std::int64_t i = begin; i < end; ++i)
      most = std::max(most, static_cast<Bits>(bits[i] & kMagnitude));
    if (most > largest) return false;
  }
  return true;
}

/// By LibTorch, for what is not in host memory in one piece, and for rarer dtypes.
bool are_good(const at::Tensor& numbers, bool allows_infinity) {
  const at::Tensor bad = allows_infinity ? numbers.isnan() : numbers.isfinite().logical_not();
  return !bad.any().item<bool>();
}

bool is_good(const StateShard& shard) {
  const at::Tensor numbers = shard.data.detach();
  if (!numbers.is_floating_point() || numbers.numel() == 0) return true;
  if (!numbers.is_cpu() || !numbers.is_non_overlapping_and_dense())
    return are_good(numbers, shard.is_buffer);
  switch (numbers.scalar_type()) {
    case at::kFloat:
      return are_good<std::uint32_t>(numbers, 0x7F80'0000, shard.is_buffer);
    case at::kDouble:
      return are_good<std::uint64_t>(numbers, 0x7FF0'0000'0000'0000, shard.is_buffer);
    case at::kBFloat16:
      return are_good<std::uint16_t>(numbers, 0x7F80, shard.is_buffer);
    case at::kHalf:
      return are_good<std::uint16_t>(numbers, 0x7C00, shard.is_buffer);
    default:
      return are_good(numbers, shard.is_buffer);
  }
}

std::set<std::string> names_of_bad(std::span<const StateShard> shards) {
  const at::NoGradGuard no_grad;
  std::set<std::string> names;
  for (const StateShard& shard : shards) {
    if (!is_good(shard)) names.insert(shard.name);
  }
  return names;
}

std::string describe(const std::set<std::string>& names) {
  constexpr std::size_t kShown = 10;
  std::vector<std::string> shown(names.begin(), names.end());
  if (shown.size() > kShown) {
    shown.resize(kShown);
    shown.emplace_back("...");
  }
  return fmt::format("{} of its tensors hold{} NaN or infinite values: {}", names.size(),
                     names.size() == 1 ? "s" : "", fmt::join(shown, ", "));
}

}  // namespace

void refuse_non_finite(std::span<const StateShard> shards) {
  const std::set<std::string> names = names_of_bad(shards);
  if (!names.empty())
    throw base::DivergedError(fmt::format("{}; {}", describe(names), kDivergenceCure));
}

std::string find_non_finite(std::span<const StateShard> shards, comm::Communicator& communicator) {
  std::set<std::string> names;
  const std::string own = fmt::format("{}", fmt::join(names_of_bad(shards), "\n"));
  for (const std::string& text : comm::texts_if_any(communicator, own)) {
    std::istringstream lines(text);
    for (std::string name; std::getline(lines, name);) names.insert(name);
  }
  return names.empty() ? std::string() : describe(names);
}

}  // namespace paceline::checkpoint
