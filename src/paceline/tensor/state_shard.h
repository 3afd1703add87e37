#pragma once

#include "paceline/tensor/aten.h"

#include <cstdint>
#include <string>
#include <vector>

namespace paceline::tensor {

/// A named tensor of the model or of its optimizer as this rank holds it, for saving and loading.
/// `data` is a view: copying into it restores it. A strategy that shards gives the range it holds.
struct StateShard {
  std::string name;                 ///< state_dict name, or "optimizer.<kind>/<state_dict name>"
  at::Tensor data;                  ///< this rank's elements; logically end - begin of them
  std::vector<std::int64_t> shape;  ///< of the whole tensor
  std::int64_t begin = 0;  ///< range of the whole tensor, counted in `order`, that data holds
  std::int64_t end = 0;
  /// The dimensions from the slowest to the fastest in which begin and end count; empty: row-major.
  std::vector<std::int64_t> order = {};
  bool is_writer = true;  ///< of all ranks that hold this range, exactly one is true
};

}  // namespace paceline::tensor
