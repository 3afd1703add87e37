#pragma once

#include <cstdint>
#include <optional>

namespace paceline::tensor {

/// Memory of the CPU tensors of this process, in bytes as the allocator rounds them.
struct TensorMemory {
  std::int64_t current = 0;
  std::int64_t peak = 0;  ///< the most since counting began or the peak was restarted
  std::int64_t refused =
      0;  ///< what would have been held at the largest refusal since then; 0: none
};

/// From now on LibTorch's CPU allocator counts what it gives out, for some 20 ns a tensor; further
/// calls change nothing. Tensors that are there already never count. The allocator is one per
/// process, and so is the count: ranks that are threads of one process share it. Not counted is
/// what libraries get for themselves, such as oneDNN's scratch memory.
void count_tensor_memory();

/// Zeros before count_tensor_memory().
TensorMemory tensor_memory();

/// The peak starts anew from what is held now.
void restart_peak();

/// From now on the allocator refuses what would have tensors hold more than so many bytes, by the
/// c10::OutOfMemoryError that a full GPU throws; nothing: no limit. After count_tensor_memory().
void limit_tensor_memory(std::optional<std::int64_t> bytes);

}  // namespace paceline::tensor
