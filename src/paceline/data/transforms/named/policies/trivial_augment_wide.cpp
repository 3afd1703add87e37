#include "paceline/data/transforms/named/policies/trivial_augment_wide.h"

#include "paceline/data/transforms/augment.h"
#include "paceline/data/transforms/draw.h"

namespace paceline::data {
namespace {

class TrivialAugmentWide final : public TransformOf<TrivialAugmentWideConfig> {
 public:
  using TransformOf::TransformOf;
  ImageSize draw(ImageSize image, base::Philox& draws, Plan& plan) const override {
    const AugmentSpace space = wide_space(config().num_magnitude_bins);
    const auto op = static_cast<AugmentOp>(draws.below(kNumRandAugmentOps));
    double magnitude = 0.0;
    if (has_magnitude(op)) {
      const auto bins = static_cast<std::uint64_t>(config().num_magnitude_bins);
      magnitude = magnitude_of(op, static_cast<int>(draws.below(bins)), space);
    }
    if (has_sign(op) && draw_sign(draws)) magnitude = -magnitude;
    append_augment(op, magnitude, image, draw_filter(config().interpolation, draws), config().fill,
                   plan);
    return image;
  }
};

}  // namespace

std::unique_ptr<Transform> make(const TrivialAugmentWideConfig& config) {
  return std::make_unique<TrivialAugmentWide>(config);
}

}  // namespace paceline::data
