#include "paceline/data/transforms/named/geometry/random_crop.h"

#include "paceline/base/error.h"
#include "paceline/data/transforms/array_transform.h"
#include "paceline/data/transforms/draw.h"

#include <optional>

#include <fmt/ranges.h>

namespace paceline::data {
namespace {

class RandomCrop final : public TransformOf<RandomCropConfig>, public ArrayTransform {
 public:
  using TransformOf::TransformOf;
  ImageSize draw(ImageSize image, base::Philox& draws, Plan& plan) const override {
    const ImageSize size = image_size(config().size);
    const int room_below = image.height + 2 * config().padding - size.height;
    const int room_right = image.width + 2 * config().padding - size.width;
    if (room_below < 0 || room_right < 0) {
      throw base::DataError(
          fmt::format("random_crop cuts {} x {} pixels with a padding of {}, but the "
                      "image has {} x {}: resize first",
                      size.width, size.height, config().padding, image.width, image.height));
    }
    const int top = draw_below(draws, room_below + 1);
    const int left = draw_below(draws, room_right + 1);
    plan.emplace_back(
        CropStep{{top - config().padding, left - config().padding, size.height, size.width},
                 config().padding_mode});
    return size;
  }
  std::optional<ImageSize> fixed_size(std::optional<ImageSize>) const override {
    if (config().size.lengths.size() > 2)
      throw base::ConfigError("random_crop.size: an image has a side or [height, width], got " +
                              config().size.to_string());
    return image_size(config().size);
  }

  const ArrayTransform* for_arrays() const override { return this; }
  const std::vector<std::string>& field_names() const override { return config().fields; }
  std::size_t num_axes() const override { return config().size.lengths.size(); }
  ArrayWindow draw(std::span<const std::int64_t> sizes, base::Philox& draws) const override {
    const std::vector<int>& wanted = config().size.lengths;
    if (wanted.size() < 2 || config().padding != 0)
      throw base::ConfigError(
          "random_crop: of arrays it takes a length for each axis, as size: [32, 32, 32], and no "
          "padding");
    ArrayWindow window = whole_window(sizes);
    for (std::size_t i = 0; i < window.size(); ++i) {
      const std::int64_t room = sizes[i] - wanted[i];
      if (room < 0)
        throw base::ConfigError(
            fmt::format("random_crop.size: {} is more than the arrays have: [{}]",
                        config().size.to_string(), fmt::join(sizes, ", ")));
      window[i].begin =
          static_cast<std::int64_t>(draws.below(static_cast<std::uint64_t>(room) + 1));
      window[i].size = wanted[i];
    }
    return window;
  }
};

}  // namespace

std::unique_ptr<Transform> make(const RandomCropConfig& config) {
  return std::make_unique<RandomCrop>(config);
}

}  // namespace paceline::data
