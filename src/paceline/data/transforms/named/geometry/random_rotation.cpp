#include "paceline/data/transforms/named/geometry/random_rotation.h"

#include "paceline/data/transforms/draw.h"
#include "paceline/data/transforms/kernels/affine_matrix.h"

namespace paceline::data {
namespace {

class RandomRotation final : public TransformOf<RandomRotationConfig> {
 public:
  using TransformOf::TransformOf;
  ImageSize draw(ImageSize image, base::Philox& draws, Plan& plan) const override {
    const double angle = draw_from(config().degrees, draws);
    plan.emplace_back(AffineStep{rotation_matrix(angle, image), config().interpolation,
                                 fill_color(config().fill)});
    return image;
  }
};

}  // namespace

std::unique_ptr<Transform> make(const RandomRotationConfig& config) {
  return std::make_unique<RandomRotation>(config);
}

}  // namespace paceline::data

void paceline::config::Schema<paceline::data::RandomRotationConfig>::validate(const Config& values,
                                                                              Problems& problems) {
  data::check_order("degrees", values.degrees, problems);
}
