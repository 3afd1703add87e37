#include "paceline/parallel/sharded/sharded_memory.h"

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

/// Beside what lies in no block, while backward is at `block`.
std::uint64_t most_gathered(const ShardedLayout& layout, const ScheduleOptions& options,
                            std::size_t block) {
  const bool stay_all = options.keep_full == KeepFull::kUntilBackwardEnds;
  const std::size_t ahead = std::min(block, options.prefetch);
  std::uint64_t bytes = 0;
  for (std::size_t i = stay_all ? 0 : block - ahead; i <= block; ++i) {
    bytes += gathered_bytes(*layout.units()[i]);
  }
  return bytes;
}

/// The gradients of `block` have just been made, and those of the blocks behind it are on their
/// way.
std::uint64_t most_unreduced(const ShardedLayout& layout, std::size_t block, bool holds_all) {
  const std::size_t end =
      std::min(layout.num_blocks(), block + 1 + ShardedSchedule::kMostReductionsInFlight);
  std::uint64_t bytes = 0;
  for (std::size_t i = block; i < end; ++i) bytes += reduced_bytes(*layout.units()[i]);
  for (std::size_t i = holds_all ? 0 : block; i < end; ++i) {
    bytes += full_gradient_bytes(*layout.units()[i]);
  }
  return bytes;
}

}  // namespace

StrategyMemory sharded_memory(const ShardedLayout& layout, const ScheduleOptions& options,
                              int num_microbatches) {
  StrategyMemory memory;
  for (const auto& unit : layout.units()) {
    memory.parameters += sum(*unit, [](const ShardedFlat& flat) { return flat.parameter_bytes(); });
    memory.gradients += sum(*unit, [](const ShardedFlat& flat) { return flat.gradient_bytes(); });
  }
  // The first gradient is the head's, which lies in no block.
  const ShardUnit& root = layout.root();
  const std::uint64_t outside = gathered_bytes(root) + full_gradient_bytes(root);
  const bool holds_all = options.accumulates_full_gradients && num_microbatches > 1;
  memory.transient = outside + reduced_bytes(root);
  for (std::size_t block = 0; block < layout.num_blocks(); ++block) {
    memory.transient = std::max(memory.transient, outside + most_gathered(layout, options, block) +
                                                      most_unreduced(layout, block, holds_all));
  }
  return memory;
}

}  // namespace paceline::parallel
