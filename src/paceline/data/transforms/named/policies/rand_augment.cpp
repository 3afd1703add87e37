#include "paceline/data/transforms/named/policies/rand_augment.h"

#include "paceline/data/transforms/augment.h"
#include "paceline/data/transforms/draw.h"

namespace paceline::data {
namespace {

class RandAugment final : public TransformOf<RandAugmentConfig> {
 public:
  using TransformOf::TransformOf;
  ImageSize draw(ImageSize image, base::Philox& draws, Plan& plan) const override {
    const AugmentSpace space = standard_space(config().num_magnitude_bins, image);
    for (int i = 0; i < config().num_ops; ++i) {
      const auto op = static_cast<AugmentOp>(draws.below(kNumRandAugmentOps));
      double magnitude = magnitude_of(op, config().magnitude, space);
      if (has_sign(op) && draw_sign(draws)) magnitude = -magnitude;
      append_augment(op, magnitude, image, draw_filter(config().interpolation, draws),
                     config().fill, plan);
    }
    return image;
  }
};

}  // namespace

std::unique_ptr<Transform> make(const RandAugmentConfig& config) {
  return std::make_unique<RandAugment>(config);
}

}  // namespace paceline::data

void paceline::config::Schema<paceline::data::RandAugmentConfig>::validate(const Config& values,
                                                                           Problems& problems) {
  if (values.magnitude >= values.num_magnitude_bins) {
    problems.add("magnitude", "it must be below num_magnitude_bins");
  }
}
