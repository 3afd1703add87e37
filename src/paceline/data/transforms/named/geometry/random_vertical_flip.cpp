#include "paceline/data/transforms/named/geometry/random_vertical_flip.h"

namespace paceline::data {
namespace {

class RandomVerticalFlip final : public TransformOf<RandomVerticalFlipConfig> {
 public:
  using TransformOf::TransformOf;
  ImageSize draw(ImageSize image, base::Philox& draws, Plan& plan) const override {
    if (draws.uniform() < config().p) plan.emplace_back(VerticalFlipStep{});
    return image;
  }
};

}  // namespace

std::unique_ptr<Transform> make(const RandomVerticalFlipConfig& config) {
  return std::make_unique<RandomVerticalFlip>(config);
}

}  // namespace paceline::data
