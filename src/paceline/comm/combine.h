#pragma once

#include "paceline/comm/communicator.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace paceline::comm {

/// What can be combined without LibTorch.
enum class Element : std::uint8_t { kFloat32, kFloat64, kInt64 };

/// Calls `body` with a null pointer to the element's type and returns what it returns.
template <typename Body>
auto with_type(Element element, const Body& body) {
  switch (element) {
    case Element::kFloat32:
      return body(static_cast<float*>(nullptr));
    case Element::kFloat64:
      return body(static_cast<double*>(nullptr));
    case Element::kInt64:
      break;
  }
  return body(static_cast<std::int64_t*>(nullptr));
}

inline std::int64_t size_of(Element element) {
  return with_type(element, []<typename T>(T*) { return static_cast<std::int64_t>(sizeof(T)); });
}

/// Elements that are combined at a time; a fixed count lets the compiler use SIMD.
inline constexpr std::int64_t kCombinedBlock = 64;

template <typename T, typename Combine>
void combine_block(T* accumulated, const T* values, std::int64_t count, Combine combine) {
  if (count == kCombinedBlock) {
    for (std::int64_t i = 0; i < kCombinedBlock; ++i) {
      accumulated[i] = combine(accumulated[i], values[i]);
    }
  } else {
    for (std::int64_t i = 0; i < count; ++i) accumulated[i] = combine(accumulated[i], values[i]);
  }
}

/// Combines `sources`, of `numel` elements each, from the first to the last into both outputs.
/// Outputs may be a source, and `second` may be null.
template <typename T, typename Combine>
void combine_all(std::span<const T* const> sources, T* first, T* second, std::int64_t numel,
                 Combine combine) {
  std::array<T, kCombinedBlock> block;
  for (std::int64_t begin = 0; begin < numel; begin += kCombinedBlock) {
    const std::int64_t count = std::min(kCombinedBlock, numel - begin);
    std::copy_n(sources[0] + begin, count, block.data());
    for (const T* source : sources.subspan(1)) {
      combine_block(block.data(), source + begin, count, combine);
    }
    std::copy_n(block.data(), count, first + begin);
    if (second != nullptr) std::copy_n(block.data(), count, second + begin);
  }
}

template <typename T>
void combine_all(std::span<const T* const> sources, T* first, T* second, std::int64_t numel,
                 ReduceOp op) {
  switch (op) {
    case ReduceOp::kSum:
      return combine_all(sources, first, second, numel, [](T a, T b) { return a + b; });
    case ReduceOp::kMin:
      return combine_all(sources, first, second, numel, [](T a, T b) { return b < a ? b : a; });
    case ReduceOp::kMax:
      return combine_all(sources, first, second, numel, [](T a, T b) { return a < b ? b : a; });
  }
}

}  // namespace paceline::comm
