#include "paceline/data/transforms/named/color/random_invert.h"

namespace paceline::data {
namespace {

class RandomInvert final : public TransformOf<RandomInvertConfig> {
 public:
  using TransformOf::TransformOf;
  ImageSize draw(ImageSize image, base::Philox& draws, Plan& plan) const override {
    if (draws.uniform() < config().p) plan.emplace_back(InvertStep{});
    return image;
  }
};

}  // namespace

std::unique_ptr<Transform> make(const RandomInvertConfig& config) {
  return std::make_unique<RandomInvert>(config);
}

}  // namespace paceline::data
