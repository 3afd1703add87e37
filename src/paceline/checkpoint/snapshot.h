#pragma once

#include "paceline/tensor/aten.h"
#include "paceline/tensor/device.h"
#include "paceline/tensor/state_shard.h"

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

namespace paceline::checkpoint {

/// Host memory for a copy of what a rank writes; kept from save to save, as large as that state.
/// For state on a GPU it is pinned.
class Snapshot {
 public:
  /// The memory that a copy of these shards takes.
  static std::size_t size_bytes(std::span<const tensor::StateShard> shards);

  /// Gets the memory for such shards and touches it, which takes longer than to copy into it.
  /// `device` is theirs.
  void reserve(std::span<const tensor::StateShard> shards,
               tensor::Device& device = tensor::cpu_device());

  /// Copies the shards with is_writer, by all threads of LibTorch or, from a device that queues its
  /// work, all at once and one wait; returns them with their copies in place of their data. The
  /// copies are valid until the next call.
  std::vector<tensor::StateShard> take(std::span<const tensor::StateShard> shards,
                                       tensor::Device& device = tensor::cpu_device());

 private:
  void get_memory(std::span<const tensor::StateShard> shards, tensor::Device& device);

  std::shared_ptr<void> memory_;
  std::size_t size_ = 0;  ///< of the memory, in bytes
};

}  // namespace paceline::checkpoint
