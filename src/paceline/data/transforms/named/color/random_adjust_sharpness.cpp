#include "paceline/data/transforms/named/color/random_adjust_sharpness.h"

namespace paceline::data {
namespace {

class RandomAdjustSharpness final : public TransformOf<RandomAdjustSharpnessConfig> {
 public:
  using TransformOf::TransformOf;
  ImageSize draw(ImageSize image, base::Philox& draws, Plan& plan) const override {
    if (draws.uniform() < config().p)
      plan.emplace_back(SharpnessStep{static_cast<float>(config().sharpness_factor)});
    return image;
  }
};

}  // namespace

std::unique_ptr<Transform> make(const RandomAdjustSharpnessConfig& config) {
  return std::make_unique<RandomAdjustSharpness>(config);
}

}  // namespace paceline::data
