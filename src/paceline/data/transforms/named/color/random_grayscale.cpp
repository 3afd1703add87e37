#include "paceline/data/transforms/named/color/random_grayscale.h"

namespace paceline::data {
namespace {

class RandomGrayscale final : public TransformOf<RandomGrayscaleConfig> {
 public:
  using TransformOf::TransformOf;
  ImageSize draw(ImageSize image, base::Philox& draws, Plan& plan) const override {
    if (draws.uniform() < config().p) plan.emplace_back(SaturationStep{0.0f});
    return image;
  }
};

}  // namespace

std::unique_ptr<Transform> make(const RandomGrayscaleConfig& config) {
  return std::make_unique<RandomGrayscale>(config);
}

}  // namespace paceline::data
