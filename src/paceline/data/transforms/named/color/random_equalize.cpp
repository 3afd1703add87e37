#include "paceline/data/transforms/named/color/random_equalize.h"

namespace paceline::data {
namespace {

class RandomEqualize final : public TransformOf<RandomEqualizeConfig> {
 public:
  using TransformOf::TransformOf;
  ImageSize draw(ImageSize image, base::Philox& draws, Plan& plan) const override {
    if (draws.uniform() < config().p) plan.emplace_back(EqualizeStep{});
    return image;
  }
};

}  // namespace

std::unique_ptr<Transform> make(const RandomEqualizeConfig& config) {
  return std::make_unique<RandomEqualize>(config);
}

}  // namespace paceline::data
