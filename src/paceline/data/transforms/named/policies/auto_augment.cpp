#include "paceline/data/transforms/named/policies/auto_augment.h"

#include "paceline/data/transforms/augment.h"
#include "paceline/data/transforms/draw.h"

#include <array>
#include <span>

namespace paceline::data {
namespace {

class AutoAugment final : public TransformOf<AutoAugmentConfig> {
 public:
  using TransformOf::TransformOf;
  ImageSize draw(ImageSize image, base::Philox& draws, Plan& plan) const override {
    constexpr int kNumBins = 10;
    const AugmentSpace space = standard_space(kNumBins, image);
    const std::span<const PolicyPair> policy = policy_pairs(config().policy);
    const PolicyPair& pair = policy[draws.below(policy.size())];
    const std::array<double, 2> chances = {draws.uniform(), draws.uniform()};
    const std::array<bool, 2> signs = {draw_sign(draws), draw_sign(draws)};
    for (std::size_t i = 0; i < 2; ++i) {
      const PolicyOp& step = pair[i];
      if (chances[i] > step.probability) continue;
      const double magnitude = magnitude_of(step.op, step.level, space);
      append_augment(step.op, has_sign(step.op) && signs[i] ? -magnitude : magnitude, image,
                     draw_filter(config().interpolation, draws), config().fill, plan);
    }
    return image;
  }
};

}  // namespace

std::unique_ptr<Transform> make(const AutoAugmentConfig& config) {
  return std::make_unique<AutoAugment>(config);
}

}  // namespace paceline::data
