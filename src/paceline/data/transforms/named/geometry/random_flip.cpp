#include "paceline/data/transforms/named/geometry/random_flip.h"

#include "paceline/base/error.h"
#include "paceline/data/transforms/array_transform.h"

#include <algorithm>
#include <optional>
#include <set>

namespace paceline::data {
namespace {

class RandomFlip final : public TransformOf<RandomFlipConfig>, public ArrayTransform {
 public:
  using TransformOf::TransformOf;

  ImageSize draw(ImageSize image, base::Philox& draws, Plan& plan) const override {
    for (const int axis : config().axes) {
      if (draws.uniform() >= config().p) continue;
      if (axis == -1) {
        plan.emplace_back(FlipStep{});
      } else {
        plan.emplace_back(VerticalFlipStep{});
      }
    }
    return image;
  }

  std::optional<ImageSize> fixed_size(std::optional<ImageSize> before) const override {
    const int first = std::ranges::min(config().axes);
    if (first < -2)
      throw base::ConfigError(
          fmt::format("random_flip.axes: an image has the axes -1 and -2, got {}", first));
    return before;
  }

  const ArrayTransform* for_arrays() const override { return this; }
  const std::vector<std::string>& field_names() const override { return config().fields; }
  std::size_t num_axes() const override {
    return static_cast<std::size_t>(-*std::ranges::min_element(config().axes));
  }
  ArrayWindow draw(std::span<const std::int64_t> sizes, base::Philox& draws) const override {
    ArrayWindow window = whole_window(sizes);
    for (const int axis : config().axes) {
      AxisWindow& flipped = window[window.size() - static_cast<std::size_t>(-axis)];
      flipped.is_flipped = draws.uniform() < config().p;
    }
    return window;
  }
};

}  // namespace

std::unique_ptr<Transform> make(const RandomFlipConfig& config) {
  return std::make_unique<RandomFlip>(config);
}

}  // namespace paceline::data

void paceline::config::Schema<paceline::data::RandomFlipConfig>::validate(const Config& values,
                                                                          Problems& problems) {
  if (std::set(values.axes.begin(), values.axes.end()).size() != values.axes.size())
    problems.add("axes", "names an axis twice");
}
