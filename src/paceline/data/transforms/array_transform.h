#pragma once

#include "paceline/base/philox.h"
#include "paceline/data/dataset/field.h"
#include "paceline/data/transforms/plan.h"
#include "paceline/data/transforms/transform.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace paceline::data {

/// What is taken along an axis: `size` places from `begin` on, perhaps from the last to the first.
struct AxisWindow {
  std::int64_t begin = 0;
  std::int64_t size = 0;
  bool is_flipped = false;
  friend bool operator==(const AxisWindow&, const AxisWindow&) = default;
};
/// One for each axis, the last axis last.
using ArrayWindow = std::vector<AxisWindow>;

/// All of an array.
ArrayWindow whole_window(std::span<const std::int64_t> sizes);

/// What `change`, which is of the last axes alone, takes of what `window` takes.
ArrayWindow compose(ArrayWindow window, std::span<const AxisWindow> change);

/// Copies the window of a field's sample to `target`, packed.
void copy_window(std::span<const std::byte> sample, const FieldSpec& field,
                 const ArrayWindow& window, std::byte* target);

/// What a transform does to arrays: it moves the last axes of all fields that it names by one draw,
/// so that what belongs together stays together. Values stay as they are, of labels too.
class ArrayTransform {
 public:
  virtual ~ArrayTransform() = default;
  /// Of the fields that it moves; none: of all that have two axes or more.
  virtual const std::vector<std::string>& field_names() const = 0;
  /// How many of the last axes it looks at. They have the same sizes in all fields that it moves.
  virtual std::size_t num_axes() const = 0;
  /// What is taken of these axes. Their sizes after it must not hang on what is drawn. Throws
  /// ConfigError if it does not suit the sizes.
  virtual ArrayWindow draw(std::span<const std::int64_t> sizes, base::Philox& draws) const = 0;
};

/// The transforms of a data set of arrays. Immutable; any number of threads may draw at once.
class ArrayTransforms {
 public:
  /// Throws ConfigError for a transform that is for images alone, a field that is not there, or
  /// sizes that do not suit.
  ArrayTransforms(const std::vector<TransformConfig>& transforms,
                  std::span<const FieldSpec> fields);

  /// Of field number `field` after all transforms.
  std::vector<std::int64_t> sizes_of(std::size_t field) const;

  /// What is taken of each field of a sample: a function of the key alone.
  std::vector<ArrayWindow> draw(const DrawKey& key) const;

 private:
  struct Part {
    TransformConfig transform;       ///< keeps alive what is drawn by
    const ArrayTransform* arrays;    ///< of it
    std::vector<std::size_t> moved;  ///< numbers of fields
  };
  std::vector<ArrayWindow> draw_all(base::Philox& draws) const;

  std::vector<ArrayWindow> whole_;
  std::vector<Part> parts_;
};

}  // namespace paceline::data
