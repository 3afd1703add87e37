#pragma once

#include "paceline/tensor/aten.h"

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace paceline::tensor {

/// What each rank has of its own of a buffer, where buffers are not synchronised; under the name of
/// the buffer itself lies rank 0's.
inline constexpr std::string_view kRankBuffers = "rank_buffers/";
/// What compressed gradients need from step to step. It changes their errors and no more, so that a
/// run can do without it.
inline constexpr std::string_view kCompression = "compression.";
/// What algorithms own: "algorithms.NAME/PARAMETER".
inline constexpr std::string_view kAlgorithms = "algorithms.";
/// What names begin with that are none of the model's state_dict.
inline constexpr std::array<std::string_view, 4> kOtherStates{"optimizer.", kCompression,
                                                              kRankBuffers, kAlgorithms};

/// A named tensor of the model or of its optimizer as this rank holds it, for saving and loading.
/// `data` is a view: copying into it restores it. It is either the whole tensor, with any strides,
/// or the range of it that a strategy which shards holds: one-dimensional, contiguous, counted in
/// `order`.
struct StateShard {
  std::string name;  ///< state_dict name, or one that begins with one of kOtherStates
  at::Tensor data;   ///< this rank's elements; logically end - begin of them
  std::vector<std::int64_t> shape;  ///< of the whole tensor
  std::int64_t begin = 0;           ///< range of the whole tensor's elements that data holds
  std::int64_t end = 0;
  bool is_writer = true;  ///< of all ranks that hold this range, exactly one is true
  /// Whether all ranks that hold this range hold the same bits; running statistics may be a rank's
  /// own.
  bool is_replicated = true;
  /// Whether the first dimension counts the ranks, and each holds its own part: a checkpoint of
  /// another number of ranks, or without it, leaves it as it is.
  bool is_per_rank = false;
  bool is_buffer = false;  ///< of the model, and no parameter: a mask may hold infinite values
  /// The dimensions from the slowest to the fastest in which begin and end count, {0, 2, 3, 1} for
  /// channels-last; empty: row-major.
  std::vector<std::int64_t> order = {};
};

}  // namespace paceline::tensor
