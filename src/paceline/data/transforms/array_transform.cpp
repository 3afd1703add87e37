#include "paceline/data/transforms/array_transform.h"

#include "paceline/base/error.h"
#include "paceline/base/text.h"

#include <algorithm>
#include <cstring>
#include <optional>

#include <fmt/ranges.h>

namespace paceline::data {
namespace {

std::vector<std::int64_t> sizes_of_window(std::span<const AxisWindow> window) {
  std::vector<std::int64_t> sizes;
  for (const AxisWindow& axis : window) sizes.push_back(axis.size);
  return sizes;
}

bool is_whole(const AxisWindow& axis, std::int64_t size) {
  return axis == AxisWindow{0, size, false};
}

template <class T>
void copy_reversed(const std::byte* source, std::size_t count, std::byte* target) {
  for (std::size_t i = 0; i < count; ++i) {
    T number;
    std::memcpy(&number, source + (count - 1 - i) * sizeof(T), sizeof(T));
    std::memcpy(target + i * sizeof(T), &number, sizeof(T));
  }
}

/// Numbers of `item_bytes` each, the last one first. They may lie anywhere.
void copy_reversed(const std::byte* source, std::size_t count, std::size_t item_bytes,
                   std::byte* target) {
  switch (item_bytes) {
    case 1:
      return copy_reversed<std::uint8_t>(source, count, target);
    case 2:
      return copy_reversed<std::uint16_t>(source, count, target);
    case 4:
      return copy_reversed<std::uint32_t>(source, count, target);
    default:
      return copy_reversed<std::uint64_t>(source, count, target);
  }
}

/// Copies axis by axis; what no axis from some on changes is one run of bytes.
class WindowCopy {
 public:
  WindowCopy(const FieldSpec& field, const ArrayWindow& window, std::byte* target)
      : window_(window), strides_(window.size()), item_bytes_(bytes_of(field.type)), to_(target) {
    std::size_t stride = item_bytes_;
    for (std::size_t axis = window.size(); axis-- > 0;) {
      strides_[axis] = stride;
      stride *= static_cast<std::size_t>(field.sizes[axis]);
      if (!last_changed_ && !is_whole(window[axis], field.sizes[axis])) last_changed_ = axis;
    }
    all_bytes_ = stride;
  }

  void run(const std::byte* from) {
    if (!last_changed_) {
      std::memcpy(to_, from, all_bytes_);
    } else {
      copy(0, from);
    }
  }

 private:
  void copy(std::size_t axis, const std::byte* from) {
    const AxisWindow& taken = window_[axis];
    const std::size_t stride = strides_[axis];
    from += static_cast<std::size_t>(taken.begin) * stride;
    if (axis == *last_changed_ && !taken.is_flipped)
      return put(from, static_cast<std::size_t>(taken.size) * stride);
    if (axis == *last_changed_ && stride == item_bytes_) {
      copy_reversed(from, static_cast<std::size_t>(taken.size), item_bytes_, to_);
      to_ += static_cast<std::size_t>(taken.size) * stride;
      return;
    }
    for (std::int64_t i = 0; i < taken.size; ++i) {
      const std::int64_t place = taken.is_flipped ? taken.size - 1 - i : i;
      const std::byte* const at = from + static_cast<std::size_t>(place) * stride;
      if (axis == *last_changed_) {
        put(at, stride);
      } else {
        copy(axis + 1, at);
      }
    }
  }

  void put(const std::byte* from, std::size_t size) {
    std::memcpy(to_, from, size);
    to_ += size;
  }

  const ArrayWindow& window_;
  std::vector<std::size_t> strides_;
  std::size_t item_bytes_;
  std::size_t all_bytes_ = 0;
  std::optional<std::size_t> last_changed_;
  std::byte* to_;
};

/// Numbers of the fields that a transform moves.
std::vector<std::size_t> fields_moved_by(const ArrayTransform& transform, std::string_view name,
                                         std::span<const FieldSpec> fields) {
  std::vector<std::size_t> moved;
  std::vector<std::string> known;
  for (std::size_t i = 0; i < fields.size(); ++i) {
    const auto& names = transform.field_names();
    const bool is_named = std::ranges::find(names, fields[i].name) != names.end();
    if (names.empty() ? fields[i].sizes.size() >= 2 : is_named) moved.push_back(i);
    known.push_back(fields[i].name);
  }
  for (const std::string& wanted : transform.field_names()) {
    if (std::ranges::find(known, wanted) == known.end())
      throw base::ConfigError(fmt::format("{}.fields: the data have no field {}; they have {}",
                                          name, wanted, base::join(known, ", ")));
  }
  if (moved.empty())
    throw base::ConfigError(
        fmt::format("{}: the data have no field with two axes or more that it could move", name));
  return moved;
}

/// Of the axes that a transform looks at, which must be the same in all fields that it moves.
std::vector<std::int64_t> common_sizes(const ArrayTransform& transform, std::string_view name,
                                       std::span<const std::size_t> moved,
                                       std::span<const FieldSpec> fields,
                                       std::span<const ArrayWindow> windows) {
  std::vector<std::int64_t> common;
  const std::string* first = nullptr;
  for (const std::size_t field : moved) {
    const ArrayWindow& window = windows[field];
    const std::size_t count = transform.num_axes();
    if (window.size() < count)
      throw base::ConfigError(
          fmt::format("{} moves the last {} axes, but field {} has {}: name "
                      "the fields that it moves in {}.fields",
                      name, count, fields[field].name, window.size(), name));
    auto sizes = sizes_of_window(std::span(window).last(count));
    if (first != nullptr && sizes != common)
      throw base::ConfigError(
          fmt::format("{} moves fields {} and {} alike, but their last axes have sizes {} and {}: "
                      "name those that belong together in {}.fields",
                      name, *first, fields[field].name, fmt::join(common, " x "),
                      fmt::join(sizes, " x "), name));
    common = std::move(sizes);
    first = &fields[field].name;
  }
  return common;
}

}  // namespace

ArrayWindow whole_window(std::span<const std::int64_t> sizes) {
  ArrayWindow window;
  for (const std::int64_t size : sizes) window.push_back({0, size, false});
  return window;
}

ArrayWindow compose(ArrayWindow window, std::span<const AxisWindow> change) {
  const std::size_t first = window.size() - change.size();
  for (std::size_t i = 0; i < change.size(); ++i) {
    AxisWindow& axis = window[first + i];
    const std::int64_t skipped =
        axis.is_flipped ? axis.size - change[i].begin - change[i].size : change[i].begin;
    axis = {axis.begin + skipped, change[i].size, axis.is_flipped != change[i].is_flipped};
  }
  return window;
}

void copy_window(std::span<const std::byte> sample, const FieldSpec& field,
                 const ArrayWindow& window, std::byte* target) {
  WindowCopy(field, window, target).run(sample.data());
}

ArrayTransforms::ArrayTransforms(const std::vector<TransformConfig>& transforms,
                                 std::span<const FieldSpec> fields) {
  for (const FieldSpec& field : fields) whole_.push_back(whole_window(field.sizes));
  std::vector<ArrayWindow> windows = whole_;
  for (const TransformConfig& transform : transforms) {
    transform->check();
    const ArrayTransform* const arrays = transform->for_arrays();
    if (arrays == nullptr)
      throw base::ConfigError(fmt::format(
          "{} is for images, and the samples are arrays: random_flip and random_crop move those",
          transform->name()));
    Part part{transform, arrays, fields_moved_by(*arrays, transform->name(), fields)};
    const auto sizes = common_sizes(*arrays, transform->name(), part.moved, fields, windows);
    base::Philox draws(0, base::DrawPurpose::kAugmentation, 0, 0);  // sizes hang on no draw
    const ArrayWindow change = arrays->draw(sizes, draws);
    for (const std::size_t field : part.moved)
      windows[field] = compose(std::move(windows[field]), change);
    parts_.push_back(std::move(part));
  }
}

std::vector<std::int64_t> ArrayTransforms::sizes_of(std::size_t field) const {
  base::Philox draws(0, base::DrawPurpose::kAugmentation, 0, 0);
  return sizes_of_window(draw_all(draws)[field]);
}

std::vector<ArrayWindow> ArrayTransforms::draw(const DrawKey& key) const {
  base::Philox draws(key.seed, base::DrawPurpose::kAugmentation, key.epoch, key.position);
  return draw_all(draws);
}

std::vector<ArrayWindow> ArrayTransforms::draw_all(base::Philox& draws) const {
  std::vector<ArrayWindow> windows = whole_;
  for (const Part& part : parts_) {
    const auto axes = std::span(windows[part.moved.front()]).last(part.arrays->num_axes());
    const ArrayWindow change = part.arrays->draw(sizes_of_window(axes), draws);
    for (const std::size_t field : part.moved)
      windows[field] = compose(std::move(windows[field]), change);
  }
  return windows;
}

}  // namespace paceline::data
