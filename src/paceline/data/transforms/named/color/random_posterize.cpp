#include "paceline/data/transforms/named/color/random_posterize.h"

namespace paceline::data {
namespace {

class RandomPosterize final : public TransformOf<RandomPosterizeConfig> {
 public:
  using TransformOf::TransformOf;
  ImageSize draw(ImageSize image, base::Philox& draws, Plan& plan) const override {
    if (draws.uniform() < config().p) plan.emplace_back(PosterizeStep{config().bits});
    return image;
  }
};

}  // namespace

std::unique_ptr<Transform> make(const RandomPosterizeConfig& config) {
  return std::make_unique<RandomPosterize>(config);
}

}  // namespace paceline::data
