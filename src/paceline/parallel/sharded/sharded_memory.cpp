// What ShardedStrategy needs of memory, by the layout that it made.

#include "paceline/parallel/sharded/sharded_strategy.h"
#include "paceline/tensor/aten.h"

#include <algorithm>

namespace paceline::parallel {
namespace {

/// Of the flats of a unit.
template <class Bytes>
std::uint64_t sum(const ShardUnit& unit, Bytes bytes) {
  std::uint64_t total = 0;
  for (const auto& flat : unit.flats()) total += bytes(*flat);
  return total;
}

std::uint64_t gathered_bytes(const ShardUnit& unit) {
  return sum(unit, [](const ShardedFlat& flat) { return flat.gathered_bytes(); });
}

std::uint64_t full_gradient_bytes(const ShardUnit& unit) {
  return sum(unit, [](const ShardedFlat& flat) { return flat.full_gradient_bytes(); });
}

std::uint64_t reduced_bytes(const ShardUnit& unit) {
  return sum(unit, [](const ShardedFlat& flat) { return flat.reduced_bytes(); });
}

}  // namespace

std::uint64_t ShardedFlat::full_bytes() const {
  return static_cast<std::uint64_t>(full_.numel()) * c10::elementSize(options_.param_dtype);
}

std::uint64_t ShardedFlat::parameter_bytes() const {
  if (!options_.keeps_full) return shard_.nbytes();
  return full_bytes() + (is_cast() ? shard_.nbytes() : 0);
}

std::uint64_t ShardedFlat::gradient_bytes() const {
  return is_trainable() ? grad_shard_.nbytes() : 0;
}

std::uint64_t ShardedFlat::gathered_bytes() const {
  const std::uint64_t input = is_cast() && !is_alone() ? full_bytes() / world_size() : 0;
  return input + (options_.keeps_full ? 0 : full_bytes());
}

std::uint64_t ShardedFlat::full_gradient_bytes() const {
  const bool is_in_place = is_alone() && options_.reduce_dtype == shard_.scalar_type();
  if (!is_trainable() || is_in_place) return 0;
  return static_cast<std::uint64_t>(full_.numel()) * c10::elementSize(options_.reduce_dtype);
}

std::uint64_t ShardedFlat::reduced_bytes() const {
  return is_alone() ? 0 : full_gradient_bytes() / world_size();
}

/// Beside what lies in no block, while backward is at `block`.
std::uint64_t ShardedStrategy::most_gathered(std::size_t block) const {
  const bool stay_all = plan_.keep_full == KeepFull::kUntilBackwardEnds;
  const std::size_t ahead = std::min(block, static_cast<std::size_t>(config_.prefetch));
  std::uint64_t bytes = 0;
  for (std::size_t i = stay_all ? 0 : block - ahead; i <= block; ++i) {
    bytes += gathered_bytes(*units_[i]);
  }
  return bytes;
}

/// The gradients of `block` have just been made, and those of the blocks behind it are on their
/// way.
std::uint64_t ShardedStrategy::most_unreduced(std::size_t block, bool holds_all) const {
  const std::size_t end = std::min(num_blocks(), block + 1 + kMostReductionsInFlight);
  std::uint64_t bytes = 0;
  for (std::size_t i = block; i < end; ++i) bytes += reduced_bytes(*units_[i]);
  for (std::size_t i = holds_all ? 0 : block; i < end; ++i) {
    bytes += full_gradient_bytes(*units_[i]);
  }
  return bytes;
}

StrategyMemory ShardedStrategy::memory(int num_microbatches) const {
  StrategyMemory memory{.parameters = bytes_of(buffers_)};
  for (const auto& unit : units_) {
    for (const auto& flat : unit->flats()) {
      memory.parameters += flat->parameter_bytes();
      memory.gradients += flat->gradient_bytes();
    }
  }
  // The first gradient is the head's, which lies in no block.
  const std::uint64_t outside =
      gathered_bytes(*units_.back()) + full_gradient_bytes(*units_.back());
  const bool holds_all = accumulates_full_gradients_ && num_microbatches > 1;
  memory.transient = outside + reduced_bytes(*units_.back());
  for (std::size_t block = 0; block < num_blocks(); ++block) {
    memory.transient = std::max(memory.transient,
                                outside + most_gathered(block) + most_unreduced(block, holds_all));
  }
  return memory;
}

}  // namespace paceline::parallel
