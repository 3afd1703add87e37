#include "paceline/data/transforms/named/geometry/random_affine.h"

#include "paceline/data/transforms/draw.h"
#include "paceline/data/transforms/kernels/affine_matrix.h"

namespace paceline::data {
namespace {

class RandomAffine final : public TransformOf<RandomAffineConfig> {
 public:
  using TransformOf::TransformOf;
  ImageSize draw(ImageSize image, base::Philox& draws, Plan& plan) const override {
    Movement movement;
    movement.center = {image.width * 0.5, image.height * 0.5};
    movement.angle = draw_from(config().degrees, draws);
    const std::array<double, 2> reach = {config().translate[0] * image.width,
                                         config().translate[1] * image.height};
    for (std::size_t axis = 0; axis < 2; ++axis) {
      movement.translate[axis] = round_to_even(draws.uniform(-reach[axis], reach[axis]));
    }
    movement.scale = draw_from(config().scale, draws);
    movement.shear[0] = draw_from(config().shear_x, draws);
    movement.shear[1] = draw_from(config().shear_y, draws);
    plan.emplace_back(AffineStep{affine_matrix(movement),
                                 draw_filter(config().interpolation, draws),
                                 fill_color(config().fill)});
    return image;
  }
};

}  // namespace

std::unique_ptr<Transform> make(const RandomAffineConfig& config) {
  return std::make_unique<RandomAffine>(config);
}

}  // namespace paceline::data

void paceline::config::Schema<paceline::data::RandomAffineConfig>::validate(const Config& values,
                                                                            Problems& problems) {
  data::check_order("degrees", values.degrees, problems);
  data::check_order("scale", values.scale, problems);
  data::check_order("shear_x", values.shear_x, problems);
  data::check_order("shear_y", values.shear_y, problems);
}
