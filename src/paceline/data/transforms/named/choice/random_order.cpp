#include "paceline/data/transforms/named/choice/random_order.h"

#include "paceline/data/transforms/draw.h"
#include "paceline/data/transforms/transform_of_others.h"

#include <numeric>
#include <optional>
#include <utility>

namespace paceline::data {
namespace {

class RandomOrder final : public TransformOfOthers<RandomOrderConfig> {
 public:
  using TransformOfOthers::TransformOfOthers;
  ImageSize draw(ImageSize image, base::Philox& draws, Plan& plan) const override {
    std::vector<std::size_t> order(transforms().size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    base::shuffle(order, draws);
    for (const std::size_t index : order) image = transforms()[index]->draw(image, draws, plan);
    return image;
  }
  std::optional<ImageSize> fixed_size(std::optional<ImageSize> before) const override {
    return size_after_any_order(transforms(), before);
  }
};

}  // namespace

std::unique_ptr<Transform> make(const RandomOrderConfig& config,
                                std::vector<TransformConfig> transforms) {
  return std::make_unique<RandomOrder>(config, std::move(transforms));
}

}  // namespace paceline::data
