#include "paceline/tensor/flat_layout.h"

#include "paceline/base/error.h"
#include "paceline/tensor/aten.h"
#include "paceline/tensor/dtype.h"

#include <algorithm>
#include <map>
#include <unordered_map>
#include <utility>

namespace paceline::tensor {
namespace {

std::int64_t item_size(std::string_view dtype) {
  return static_cast<std::int64_t>(c10::elementSize(dtype_from_name(dtype)));
}

std::int64_t numel_of(const TensorSpec& spec) {
  std::int64_t numel = 1;
  for (const std::int64_t size : spec.sizes) numel *= size;
  return numel;
}

std::int64_t bytes_of(const TensorSpec& spec) { return numel_of(spec) * item_size(spec.dtype); }

/// Positions in `specs` in the order in which tensors are laid out.
std::vector<std::size_t> layout_order(std::span<const TensorSpec> specs,
                                      std::span<const std::string> names_first) {
  std::unordered_map<std::string_view, std::size_t> by_name;
  for (std::size_t i = 0; i < specs.size(); ++i) {
    PACELINE_CHECK(by_name.emplace(specs[i].name, i).second, "two tensors are called '{}'",
                   specs[i].name);
  }
  std::vector<std::size_t> order;
  std::vector<bool> taken(specs.size(), false);
  for (const std::string& name : names_first) {
    const auto found = by_name.find(name);
    if (found == by_name.end()) {
      throw base::ConfigError(fmt::format(
          "bucket_order names '{}', which is no trainable parameter of the model", name));
    }
    if (taken[found->second]) {
      throw base::ConfigError(fmt::format("bucket_order names '{}' twice", name));
    }
    taken[found->second] = true;
    order.push_back(found->second);
  }
  for (std::size_t i = specs.size(); i-- > 0;) {
    if (!taken[i]) order.push_back(i);
  }
  return order;
}

/// Gives the last tensors, as many as `bytes` hold but at least one, a bucket of their own.
void split_last_bucket(std::vector<std::vector<std::size_t>>& buckets,
                       std::span<const TensorSpec> specs, std::int64_t bytes) {
  if (bytes == 0 || buckets.empty()) return;
  std::vector<std::size_t>& last = buckets.back();
  std::size_t begin = last.size();
  for (std::int64_t held = 0; begin > 0; --begin) {
    held += bytes_of(specs[last[begin - 1]]);
    if (held > bytes && begin < last.size()) break;
  }
  if (begin == 0) return;
  const auto first_moved = last.begin() + static_cast<std::ptrdiff_t>(begin);
  std::vector<std::size_t> moved(first_moved, last.end());
  last.erase(first_moved, last.end());
  buckets.push_back(std::move(moved));
}

/// Positions in `specs`, bucket by bucket, buckets in the order in which their last tensor comes.
std::vector<std::vector<std::size_t>> assign_buckets(std::span<const TensorSpec> specs,
                                                     const FlatLayoutOptions& options) {
  struct Open {
    std::vector<std::size_t> members;
    std::int64_t bytes = 0;
  };
  std::map<std::string_view, Open> open;                                 // by dtype
  std::vector<std::pair<std::size_t, std::vector<std::size_t>>> closed;  // last position, members
  const std::vector<std::size_t> order = layout_order(specs, options.order);
  std::map<std::string_view, std::size_t> last_position;
  for (std::size_t position = 0; position < order.size(); ++position) {
    const TensorSpec& spec = specs[order[position]];
    Open& bucket = open[spec.dtype];
    bucket.members.push_back(order[position]);
    bucket.bytes += bytes_of(spec);
    last_position[spec.dtype] = position;
    const std::int64_t limit = closed.empty() ? options.first_bucket_bytes : options.bucket_bytes;
    if (bucket.bytes >= limit) closed.emplace_back(position, std::exchange(bucket, {}).members);
  }
  for (auto& [dtype, bucket] : open) {
    if (!bucket.members.empty()) {
      closed.emplace_back(last_position[dtype], std::move(bucket.members));
    }
  }
  std::ranges::sort(closed);
  std::vector<std::vector<std::size_t>> buckets;
  for (auto& [position, members] : closed) buckets.push_back(std::move(members));
  split_last_bucket(buckets, specs, options.last_bucket_bytes);
  return buckets;
}

/// Appends the members as one bucket that starts at `cursor`, in elements; moves the cursor behind
/// it.
void append_bucket(FlatLayout& layout, std::span<const TensorSpec> specs,
                   std::vector<std::size_t> members, std::int64_t alignment, std::int64_t& cursor) {
  std::ranges::stable_sort(members, {}, [&](std::size_t i) { return specs[i].group; });
  const auto number = static_cast<std::int64_t>(layout.buckets.size());
  layout.buckets.push_back({specs[members.front()].dtype, cursor, cursor});
  for (const std::size_t member : members) {
    const auto slot = static_cast<std::int64_t>(layout.slots.size());
    const std::int64_t numel = numel_of(specs[member]);
    const bool starts_range = layout.ranges.empty() || layout.ranges.back().bucket != number ||
                              layout.ranges.back().group != specs[member].group;
    if (starts_range) {
      layout.ranges.push_back({number, specs[member].group, slot, slot, cursor, cursor});
    }
    layout.slots.push_back({specs[member], number, cursor, numel});
    cursor += (numel + alignment - 1) / alignment * alignment;
    layout.ranges.back().end_slot = slot + 1;
    layout.ranges.back().end = cursor;
  }
  layout.buckets.back().end = cursor;
}

}  // namespace

TensorSpec describe(const std::string& name, const at::Tensor& tensor, std::int64_t group) {
  PACELINE_CHECK(tensor.layout() == at::kStrided && tensor.is_non_overlapping_and_dense(),
                 "parameter '{}' is sparse or has gaps or overlaps in memory; make it contiguous",
                 name);
  const std::string_view dtype = dtype_name(tensor.scalar_type());
  PACELINE_CHECK(!dtype.empty(), "parameter '{}' has dtype {}, which cannot be trained", name,
                 c10::toString(tensor.scalar_type()));
  return {name, std::string(dtype), tensor.sizes().vec(), tensor.strides().vec(), group};
}

FlatLayout FlatLayout::build(std::span<const TensorSpec> specs, const FlatLayoutOptions& options) {
  FlatLayout layout;
  std::map<std::string_view, std::int64_t> cursors;  // by dtype
  for (std::vector<std::size_t>& members : assign_buckets(specs, options)) {
    const std::string_view dtype = specs[members.front()].dtype;
    const std::int64_t alignment =
        std::max<std::int64_t>(1, options.alignment_bytes / item_size(dtype));
    append_bucket(layout, specs, std::move(members), alignment, cursors[dtype]);
  }
  return layout;
}

}  // namespace paceline::tensor
