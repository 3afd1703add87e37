#include "paceline/data/transforms/named/random_crop.h"

#include "paceline/base/error.h"
#include "paceline/data/transforms/draw.h"

#include <optional>

namespace paceline::data {
namespace {

class RandomCrop final : public TransformOf<RandomCropConfig> {
 public:
  using TransformOf::TransformOf;
  ImageSize draw(ImageSize image, base::Philox& draws, Plan& plan) const override {
    const int room_below = image.height + 2 * config().padding - config().size;
    const int room_right = image.width + 2 * config().padding - config().size;
    if (room_below < 0 || room_right < 0) {
      throw base::DataError(
          fmt::format("random_crop cuts {0} x {0} pixels with a padding of {1}, but the "
                      "image has {2} x {3}: resize first",
                      config().size, config().padding, image.width, image.height));
    }
    const int top = draw_below(draws, room_below + 1);
    const int left = draw_below(draws, room_right + 1);
    plan.emplace_back(
        CropStep{{top - config().padding, left - config().padding, config().size, config().size}});
    return {config().size, config().size};
  }
  std::optional<ImageSize> fixed_size(std::optional<ImageSize>) const override {
    return ImageSize{config().size, config().size};
  }
};

}  // namespace

std::unique_ptr<Transform> make(const RandomCropConfig& config) {
  return std::make_unique<RandomCrop>(config);
}

}  // namespace paceline::data
