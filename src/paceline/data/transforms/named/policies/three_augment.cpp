#include "paceline/data/transforms/named/policies/three_augment.h"

#include "paceline/data/transforms/draw.h"
#include "paceline/data/transforms/named/color/color_jitter.h"

namespace paceline::data {
namespace {

class ThreeAugment final : public TransformOf<ThreeAugmentConfig> {
 public:
  explicit ThreeAugment(const ThreeAugmentConfig& config)
      : TransformOf(config),
        jitter_(ColorJitterConfig{
            .brightness = config.jitter, .contrast = config.jitter, .saturation = config.jitter}) {}
  ImageSize draw(ImageSize image, base::Philox& draws, Plan& plan) const override {
    const int chosen = draw_below(draws, 3);
    if (chosen == 0) {
      plan.emplace_back(SaturationStep{0.0f});
    } else if (chosen == 1) {
      plan.emplace_back(SolarizeStep{config().threshold});
    } else {
      plan.emplace_back(BoxBlurStep{static_cast<float>(draw_from(config().sigma, draws))});
    }
    return config().jitter == 0 ? image : jitter_->draw(image, draws, plan);
  }

 private:
  TransformConfig jitter_;
};

}  // namespace

std::unique_ptr<Transform> make(const ThreeAugmentConfig& config) {
  return std::make_unique<ThreeAugment>(config);
}

}  // namespace paceline::data

void paceline::config::Schema<paceline::data::ThreeAugmentConfig>::validate(const Config& values,
                                                                            Problems& problems) {
  data::check_order("sigma", values.sigma, problems);
}
