#include "paceline/data/transforms/named/geometry/random_horizontal_flip.h"

#include <cstdint>
#include <limits>

namespace paceline::data {
namespace {

/// In place of an epoch, for what is drawn once.
constexpr std::uint64_t kAllEpochs = std::numeric_limits<std::uint64_t>::max();

class RandomHorizontalFlip final : public TransformOf<RandomHorizontalFlipConfig> {
 public:
  using TransformOf::TransformOf;
  ImageSize draw(ImageSize image, base::Philox& draws, Plan& plan) const override {
    if (draws.uniform() < config().p) plan.emplace_back(FlipStep{});
    return image;
  }
  ImageSize draw_for(const DrawKey& key, ImageSize image, base::Philox& draws,
                     Plan& plan) const override {
    if (!config().alternating) return draw(image, draws, plan);
    base::Philox of_sample(key.seed, base::DrawPurpose::kAugmentation, kAllEpochs, key.sample);
    const bool is_flipped_first = of_sample.uniform() < config().p;
    if (is_flipped_first != (key.epoch % 2 == 1)) plan.emplace_back(FlipStep{});
    return image;
  }
  bool needs_sample() const override { return config().alternating; }
};

}  // namespace

std::unique_ptr<Transform> make(const RandomHorizontalFlipConfig& config) {
  return std::make_unique<RandomHorizontalFlip>(config);
}

}  // namespace paceline::data
