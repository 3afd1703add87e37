#include "paceline/tensor/element_order.h"

#include <algorithm>
#include <functional>
#include <numeric>

namespace paceline::tensor {

bool is_order(std::span<const std::int64_t> order, std::size_t num_dimensions) {
  if (order.empty()) return true;
  std::vector<bool> seen(num_dimensions, false);
  for (const std::int64_t dimension : order) {
    if (dimension < 0 || static_cast<std::size_t>(dimension) >= num_dimensions) return false;
    if (seen[static_cast<std::size_t>(dimension)]) return false;
    seen[static_cast<std::size_t>(dimension)] = true;
  }
  return order.size() == num_dimensions;
}

ElementOrder canonical_order(std::span<const std::int64_t> order,
                             std::span<const std::int64_t> shape) {
  ElementOrder canonical(order.begin(), order.end());
  const auto is_one = [&](std::int64_t dimension) {
    return shape[static_cast<std::size_t>(dimension)] == 1;
  };
  const auto first_large = std::stable_partition(canonical.begin(), canonical.end(), is_one);
  if (std::is_sorted(first_large, canonical.end())) return {};
  std::sort(canonical.begin(), first_large);
  return canonical;
}

ElementOrder memory_order(std::span<const std::int64_t> shape,
                          std::span<const std::int64_t> strides) {
  ElementOrder order(shape.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, std::ranges::greater(), [&](std::int64_t dimension) {
    return strides[static_cast<std::size_t>(dimension)];
  });
  return canonical_order(order, shape);
}

at::Tensor in_order(const at::Tensor& whole, std::span<const std::int64_t> order) {
  return order.empty() ? whole : whole.permute(at::IntArrayRef(order.data(), order.size()));
}

at::Tensor whole_of(const at::Tensor& flat, std::span<const std::int64_t> shape,
                    std::span<const std::int64_t> order) {
  if (order.empty()) return flat.view(at::IntArrayRef(shape.data(), shape.size()));
  std::vector<std::int64_t> sizes;
  std::vector<std::int64_t> inverse(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    const auto dimension = static_cast<std::size_t>(order[i]);
    sizes.push_back(shape[dimension]);
    inverse[dimension] = static_cast<std::int64_t>(i);
  }
  return flat.view(sizes).permute(inverse);
}

at::Tensor cut(const at::Tensor& whole, std::span<const std::int64_t> order, std::int64_t begin,
               std::int64_t end) {
  if (begin == end) return at::empty({0}, whole.options());
  const at::Tensor permuted = in_order(whole, order);
  if (permuted.dim() == 0) return permuted.view(-1);
  const std::int64_t row = permuted.numel() / permuted.size(0);
  const std::int64_t first = begin / row;
  const at::Tensor rows = permuted.slice(0, first, (end + row - 1) / row).reshape(-1);
  return rows.slice(0, begin - first * row, end - first * row);
}

}  // namespace paceline::tensor
