#include "paceline/data/transforms/named/geometry/center_crop.h"

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
    const ImageSize size = image_size(config().size);
    plan.emplace_back(CropStep{{center_start(image.height, size.height),
                                center_start(image.width, size.width), size.height, size.width}});
    return size;
  }
  std::optional<ImageSize> fixed_size(std::optional<ImageSize>) const override {
    return image_size(config().size);
  }
};

}  // namespace

std::unique_ptr<Transform> make(const CenterCropConfig& config) {
  return std::make_unique<CenterCrop>(config);
}

}  // namespace paceline::data

void paceline::config::Schema<paceline::data::CenterCropConfig>::validate(const Config& values,
                                                                          Problems& problems) {
  data::check_image_sides("size", values.size, problems);
}
