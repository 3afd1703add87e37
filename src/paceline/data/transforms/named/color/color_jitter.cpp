#include "paceline/data/transforms/named/color/color_jitter.h"

#include "paceline/data/transforms/draw.h"

#include <algorithm>
#include <array>
#include <numeric>

namespace paceline::data {
namespace {

class ColorJitter final : public TransformOf<ColorJitterConfig> {
 public:
  using TransformOf::TransformOf;
  ImageSize draw(ImageSize image, base::Philox& draws, Plan& plan) const override {
    std::array<std::size_t, 4> order;
    std::iota(order.begin(), order.end(), std::size_t{0});
    base::shuffle(order, draws);
    const auto draw_factor = [&](double strength) {
      return strength == 0 ? 1.0 : draws.uniform(std::max(0.0, 1.0 - strength), 1.0 + strength);
    };
    const auto brightness = static_cast<float>(draw_factor(config().brightness));
    const auto contrast = static_cast<float>(draw_factor(config().contrast));
    const auto saturation = static_cast<float>(draw_factor(config().saturation));
    const double turn = config().hue == 0 ? 0.0 : draws.uniform(-config().hue, config().hue);
    for (const std::size_t step : order) {
      if (step == 0 && config().brightness != 0) plan.emplace_back(BrightnessStep{brightness});
      if (step == 1 && config().contrast != 0) plan.emplace_back(ContrastStep{contrast});
      if (step == 2 && config().saturation != 0) plan.emplace_back(SaturationStep{saturation});
      if (step == 3 && config().hue != 0) plan.emplace_back(HueStep{turn});
    }
    return image;
  }
};

}  // namespace

std::unique_ptr<Transform> make(const ColorJitterConfig& config) {
  return std::make_unique<ColorJitter>(config);
}

}  // namespace paceline::data
