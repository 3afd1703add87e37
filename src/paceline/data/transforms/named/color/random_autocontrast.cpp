#include "paceline/data/transforms/named/color/random_autocontrast.h"

namespace paceline::data {
namespace {

class RandomAutocontrast final : public TransformOf<RandomAutocontrastConfig> {
 public:
  using TransformOf::TransformOf;
  ImageSize draw(ImageSize image, base::Philox& draws, Plan& plan) const override {
    if (draws.uniform() < config().p) plan.emplace_back(AutocontrastStep{});
    return image;
  }
};

}  // namespace

std::unique_ptr<Transform> make(const RandomAutocontrastConfig& config) {
  return std::make_unique<RandomAutocontrast>(config);
}

}  // namespace paceline::data
