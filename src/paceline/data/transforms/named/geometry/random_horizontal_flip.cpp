#include "paceline/data/transforms/named/geometry/random_horizontal_flip.h"

namespace paceline::data {
namespace {

class RandomHorizontalFlip final : public TransformOf<RandomHorizontalFlipConfig> {
 public:
  using TransformOf::TransformOf;
  ImageSize draw(ImageSize image, base::Philox& draws, Plan& plan) const override {
    if (draws.uniform() < config().p) plan.emplace_back(FlipStep{});
    return image;
  }
};

}  // namespace

std::unique_ptr<Transform> make(const RandomHorizontalFlipConfig& config) {
  return std::make_unique<RandomHorizontalFlip>(config);
}

}  // namespace paceline::data
