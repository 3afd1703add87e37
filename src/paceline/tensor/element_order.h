#pragma once

#include "paceline/tensor/aten.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace paceline::tensor {

/// The dimensions of a tensor from the slowest to the fastest in which its elements are counted;
/// empty: row-major.
using ElementOrder = std::vector<std::int64_t>;

/// Empty, or each of the dimensions once.
bool is_order(std::span<const std::int64_t> order, std::size_t num_dimensions);

/// The one spelling of all orders that count the elements of this shape alike: dimensions of one
/// element do not matter.
ElementOrder canonical_order(std::span<const std::int64_t> order,
                             std::span<const std::int64_t> shape);

/// The canonical order of the elements of a tensor without gaps in its memory.
ElementOrder memory_order(std::span<const std::int64_t> shape,
                          std::span<const std::int64_t> strides);

/// A view of `whole` whose row-major elements are those of `whole` in `order`.
at::Tensor in_order(const at::Tensor& whole, std::span<const std::int64_t> order);

/// The reverse: a view with the given shape of all its elements [numel], which count in `order`.
at::Tensor whole_of(const at::Tensor& flat, std::span<const std::int64_t> shape,
                    std::span<const std::int64_t> order);

/// Elements [begin, end) of `whole` in `order`, one-dimensional; copies little more than those.
at::Tensor cut(const at::Tensor& whole, std::span<const std::int64_t> order, std::int64_t begin,
               std::int64_t end);

}  // namespace paceline::tensor
