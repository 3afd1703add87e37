#include "paceline/data/transforms/named/choice/random_apply.h"

#include "paceline/data/transforms/transform_of_others.h"

#include <optional>
#include <utility>

namespace paceline::data {
namespace {

class RandomApply final : public TransformOfOthers<RandomApplyConfig> {
 public:
  using TransformOfOthers::TransformOfOthers;
  ImageSize draw(ImageSize image, base::Philox& draws, Plan& plan) const override {
    if (draws.uniform() >= config().p) return image;
    for (const TransformConfig& transform : transforms())
      image = transform->draw(image, draws, plan);
    return image;
  }
  std::optional<ImageSize> fixed_size(std::optional<ImageSize> before) const override {
    const std::optional<ImageSize> after = size_after(transforms(), before);
    return after == before || config().p == 1 ? after : std::nullopt;
  }
};

}  // namespace

std::unique_ptr<Transform> make(const RandomApplyConfig& config,
                                std::vector<TransformConfig> transforms) {
  return std::make_unique<RandomApply>(config, std::move(transforms));
}

}  // namespace paceline::data
