#include "paceline/data/transforms/named/color/random_solarize.h"

namespace paceline::data {
namespace {

class RandomSolarize final : public TransformOf<RandomSolarizeConfig> {
 public:
  using TransformOf::TransformOf;
  ImageSize draw(ImageSize image, base::Philox& draws, Plan& plan) const override {
    if (draws.uniform() < config().p) plan.emplace_back(SolarizeStep{config().threshold});
    return image;
  }
};

}  // namespace

std::unique_ptr<Transform> make(const RandomSolarizeConfig& config) {
  return std::make_unique<RandomSolarize>(config);
}

}  // namespace paceline::data
