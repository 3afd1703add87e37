#include "paceline/data/transforms/named/center_crop.h"

#include "paceline/data/transforms/draw.h"

#include <optional>

namespace paceline::data {
namespace {

/// Where a centred piece begins; an image that is too small starts inside it.
int center_start(int image_size, int crop_size) {
  if (crop_size > image_size) return -((crop_size - image_size) / 2);
  return round_to_even((image_size - crop_size) / 2.0);
}

class CenterCrop final : public TransformOf<CenterCropConfig> {
 public:
  using TransformOf::TransformOf;
  ImageSize draw(ImageSize image, base::Philox&, Plan& plan) const override {
    plan.emplace_back(
        CropStep{{center_start(image.height, config().size),
                  center_start(image.width, config().size), config().size, config().size}});
    return {config().size, config().size};
  }
  std::optional<ImageSize> fixed_size(std::optional<ImageSize>) const override {
    return ImageSize{config().size, config().size};
  }
};

}  // namespace

std::unique_ptr<Transform> make(const CenterCropConfig& config) {
  return std::make_unique<CenterCrop>(config);
}

}  // namespace paceline::data
