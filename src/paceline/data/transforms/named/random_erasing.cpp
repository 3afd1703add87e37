#include "paceline/data/transforms/named/random_erasing.h"

#include "paceline/data/transforms/draw.h"

#include <cmath>

namespace paceline::data {
namespace {

class RandomErasing final : public TransformOf<RandomErasingConfig> {
 public:
  using TransformOf::TransformOf;
  ImageSize draw(ImageSize image, base::Philox& draws, Plan& plan) const override {
    if (draws.uniform() >= config().p) return image;
    const auto [fewest, most] = config().count;
    const int count = fewest == most ? fewest : fewest + draw_below(draws, most - fewest + 1);
    for (int i = 0; i < count; ++i) draw_box(image, count, draws, plan);
    return image;
  }
  bool draws_noise() const override { return config().mode == ErasingMode::kPixel; }
  TransformPlace place() const override { return TransformPlace::kLast; }

 private:
  /// One of `count` boxes, which share the area.
  void draw_box(ImageSize image, int count, base::Philox& draws, Plan& plan) const {
    constexpr int kAttempts = 10;
    const double area = static_cast<double>(image.height) * image.width / count;
    const double log_low = std::log(config().ratio[0]);
    const double log_high = std::log(config().ratio[1]);
    for (int attempt = 0; attempt < kAttempts; ++attempt) {
      const double erased = area * draw_from(config().scale, draws);
      const double ratio = std::exp(draws.uniform(log_low, log_high));
      const int height = round_to_even(std::sqrt(erased * ratio));
      const int width = round_to_even(std::sqrt(erased / ratio));
      if (height >= image.height || width >= image.width) continue;
      const int top = draw_below(draws, image.height - height + 1);
      const int left = draw_below(draws, image.width - width + 1);
      plan.emplace_back(drawn_step({top, left, height, width}, draws));
      return;
    }
  }

  EraseStep drawn_step(const Box& box, base::Philox& draws) const {
    EraseStep step{box};
    if (config().mode == ErasingMode::kPixel) step.noise_seed = draws.next64();
    for (std::size_t channel = 0; channel < 3; ++channel) {
      step.value[channel] = static_cast<float>(
          config().mode == ErasingMode::kRand ? draws.normal() : config().value[channel]);
    }
    return step;
  }
};

}  // namespace

std::unique_ptr<Transform> make(const RandomErasingConfig& config) {
  return std::make_unique<RandomErasing>(config);
}

}  // namespace paceline::data

void paceline::config::Schema<paceline::data::RandomErasingConfig>::validate(const Config& values,
                                                                             Problems& problems) {
  data::check_order("scale", values.scale, problems);
  data::check_order("ratio", values.ratio, problems);
  if (values.count[0] > values.count[1])
    problems.add("count", "the lowest comes first, got the higher one");
}
