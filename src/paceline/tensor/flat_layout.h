#pragma once

#include "paceline/tensor/fwd.h"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace paceline::tensor {

/// What a layout needs to know of one tensor.
struct TensorSpec {
  std::string name;
  std::string dtype;  ///< "float32", "float64", "bfloat16" or "float16"
  std::vector<std::int64_t> sizes;
  std::vector<std::int64_t> strides;  ///< without gaps or overlaps, in any order of dimensions
  std::int64_t group = 0;             ///< number of the parameter group
  bool operator==(const TensorSpec&) const = default;
};

/// Throws InternalError that names the tensor when its memory has gaps or overlaps, or its dtype
/// cannot be trained.
TensorSpec describe(const std::string& name, const at::Tensor& tensor, std::int64_t group);

/// Where one tensor lies. Offsets count elements of the arena of its dtype.
struct FlatSlot {
  TensorSpec spec;
  std::int64_t bucket = 0;
  std::int64_t offset = 0;
  std::int64_t numel = 0;
  bool operator==(const FlatSlot&) const = default;
};

/// Neighbouring slots of one bucket and one parameter group: what an optimizer updates at once.
struct FlatRange {
  std::int64_t bucket = 0;
  std::int64_t group = 0;
  std::int64_t first_slot = 0;  ///< slots [first_slot, end_slot)
  std::int64_t end_slot = 0;
  std::int64_t begin = 0;  ///< elements [begin, end), padding included
  std::int64_t end = 0;
  bool operator==(const FlatRange&) const = default;
};

/// Neighbouring ranges of one dtype: what is reduced over the ranks at once.
struct FlatBucket {
  std::string dtype;
  std::int64_t begin = 0;  ///< elements [begin, end), padding included
  std::int64_t end = 0;
  bool operator==(const FlatBucket&) const = default;
};

struct FlatLayoutOptions {
  std::int64_t first_bucket_bytes = 1 << 20;  ///< small, so that the network is busy early
  std::int64_t bucket_bytes = 25 << 20;       ///< a bucket is closed once it holds this many
  std::int64_t last_bucket_bytes =
      0;  ///< the last tensors, up to so many, are a bucket of their own; 0: they are not
  std::int64_t alignment_bytes = 64;  ///< of every slot; the item size leaves no padding
  /// These names come first, in this order; all others follow in reverse registration order.
  std::vector<std::string> order = {};
};

/// The order and place of tensors in flat memory: a pure function of their specs and the options.
///
/// Tensors are taken in reverse registration order, which is close to the order in which backward
/// completes their gradients, and put into buckets by dtype; buckets are ordered by when they fill.
/// In a bucket, tensors of one parameter group are neighbours.
struct FlatLayout {
  std::vector<FlatSlot> slots;  ///< in layout order
  std::vector<FlatRange> ranges;
  std::vector<FlatBucket> buckets;

  /// `specs` in registration order. Throws ConfigError when the options name an unknown tensor.
  static FlatLayout build(std::span<const TensorSpec> specs, const FlatLayoutOptions& options);

  bool operator==(const FlatLayout&) const = default;
};

}  // namespace paceline::tensor
