#include "paceline/data/transforms/named/geometry/random_rotation.h"

#include "paceline/data/transforms/draw.h"
#include "paceline/data/transforms/kernels/affine_matrix.h"

#include <optional>

namespace paceline::data {
namespace {

class RandomRotation final : public TransformOf<RandomRotationConfig> {
 public:
  using TransformOf::TransformOf;
  ImageSize draw(ImageSize image, base::Philox& draws, Plan& plan) const override {
    const double angle = draw_from(config().degrees, draws);
    const ExpandedRotation rotation = rotation_of(angle, image);
    plan.emplace_back(AffineStep{rotation.matrix, draw_filter(config().interpolation, draws),
                                 fill_color(config().fill), rotation.size});
    return rotation.size;
  }
  std::optional<ImageSize> fixed_size(std::optional<ImageSize> before) const override {
    return config().expand ? std::nullopt : before;
  }

 private:
  ExpandedRotation rotation_of(double angle, ImageSize image) const {
    if (config().expand) return expanded_rotation(angle, image);
    if (config().center) return {rotation_about(angle, *config().center), image};
    return {rotation_matrix(angle, image), image};
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
  if (values.expand && values.center)
    problems.add("center", "the middle stays where expand is true: take one of them out");
}
