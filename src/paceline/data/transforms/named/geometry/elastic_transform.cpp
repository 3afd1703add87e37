#include "paceline/data/transforms/named/geometry/elastic_transform.h"

#include "paceline/base/error.h"
#include "paceline/data/transforms/kernels/displacement.h"

#include <algorithm>

namespace paceline::data {
namespace {

class ElasticTransform final : public TransformOf<ElasticTransformConfig> {
 public:
  using TransformOf::TransformOf;
  ImageSize draw(ImageSize image, base::Philox& draws, Plan& plan) const override {
    const int reach = displacement_kernel(std::ranges::max(config().sigma)) / 2;
    if (reach >= std::min(image.height, image.width)) {
      throw base::DataError(fmt::format(
          "elastic_transform.sigma: {} smooths over {} pixels to each side, and an image has {} x "
          "{}: make it smaller, or resize first",
          std::ranges::max(config().sigma), reach, image.width, image.height));
    }
    plan.emplace_back(ElasticStep{config().alpha, config().sigma,
                                  config().interpolation != AffineInterpolation::kNearest,
                                  fill_color(config().fill), draws.next64()});
    return image;
  }
};

}  // namespace

std::unique_ptr<Transform> make(const ElasticTransformConfig& config) {
  return std::make_unique<ElasticTransform>(config);
}

}  // namespace paceline::data

void paceline::config::Schema<paceline::data::ElasticTransformConfig>::validate(
    const Config& values, Problems& problems) {
  if (values.interpolation != data::AffineInterpolation::kNearest &&
      values.interpolation != data::AffineInterpolation::kBilinear) {
    problems.add("interpolation", fmt::format("is nearest or bilinear here, got {}",
                                              enum_name(values.interpolation)));
  }
}
