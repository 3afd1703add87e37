#include "paceline/data/transforms/named/choice/random_choice.h"

#include "paceline/data/transforms/draw.h"
#include "paceline/data/transforms/transform_of_others.h"

#include <numeric>
#include <optional>
#include <utility>

namespace paceline::data {
namespace {

class RandomChoice final : public TransformOfOthers<RandomChoiceConfig> {
 public:
  using TransformOfOthers::TransformOfOthers;
  ImageSize draw(ImageSize image, base::Philox& draws, Plan& plan) const override {
    return transforms()[draw_index(draws)]->draw(image, draws, plan);
  }
  std::optional<ImageSize> fixed_size(std::optional<ImageSize> before) const override {
    return size_after_any(transforms(), before);
  }

 private:
  std::size_t draw_index(base::Philox& draws) const {
    const std::vector<double>& shares = config().p;
    if (shares.empty()) {
      const auto count = static_cast<double>(transforms().size());
      return static_cast<std::size_t>(draws.uniform() * count);
    }
    return draw_share(shares, draws);
  }
};

}  // namespace

std::unique_ptr<Transform> make(const RandomChoiceConfig& config,
                                std::vector<TransformConfig> transforms) {
  return std::make_unique<RandomChoice>(config, std::move(transforms));
}

}  // namespace paceline::data

void paceline::config::Schema<paceline::data::RandomChoiceConfig>::validate(const Config& values,
                                                                            Problems& problems) {
  if (values.p.empty()) return;
  if (values.p.size() != values.transforms.size()) {
    problems.add("p", fmt::format("one share for each of {} transforms, got {}",
                                  values.transforms.size(), values.p.size()));
  } else if (std::accumulate(values.p.begin(), values.p.end(), 0.0) == 0.0) {
    problems.add("p", "all shares are 0, so there is nothing to choose");
  }
}
