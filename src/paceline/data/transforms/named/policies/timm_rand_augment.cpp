#include "paceline/data/transforms/named/policies/timm_rand_augment.h"

#include "paceline/base/error.h"
#include "paceline/data/transforms/draw.h"
#include "paceline/data/transforms/timm_augment.h"
#include "paceline/data/transforms/timm_policy.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace paceline::data {
namespace {

class TimmRandAugment final : public TransformOf<TimmRandAugmentConfig> {
 public:
  TimmRandAugment(const TimmRandAugmentConfig& config, TimmPolicy policy)
      : TransformOf(config), policy_(std::move(policy)) {}
  ImageSize draw(ImageSize image, base::Philox& draws, Plan& plan) const override {
    const auto ops = timm_ops(policy_.ops, policy_.increasing);
    const bool with_replacement = policy_.ops.empty() || policy_.ops == "3a";
    std::vector<double> weights(ops.size());
    std::ranges::transform(ops, weights.begin(), &WeightedOp::weight);
    for (int i = 0; i < policy_.num_ops; ++i) {
      const std::size_t chosen = draw_share(weights, draws);
      if (!with_replacement) weights[chosen] = 0;
      if (draws.uniform() < policy_.probability) append_drawn(ops[chosen].op, image, draws, plan);
    }
    return image;
  }

 private:
  void append_drawn(TimmOp op, ImageSize image, base::Philox& draws, Plan& plan) const {
    const double level = std::clamp(draw_level(draws), 0.0, policy_.highest);
    const bool is_reversed = has_sign(op) && draws.below(2) != 0;
    const auto filter = moves_pixels(op) ? draw_filter(config().interpolation, draws)
                                         : AffineInterpolation::kNearest;
    append_timm(op, timm_argument(op, level, is_reversed), image, filter, fill_color(config().fill),
                plan);
  }
  double draw_level(base::Philox& draws) const {
    if (policy_.deviation == TimmPolicy::kUniform) return draws.uniform(0.0, policy_.magnitude);
    if (policy_.deviation == 0) return policy_.magnitude;
    return policy_.magnitude + policy_.deviation * draws.normal();
  }

  TimmPolicy policy_;
};

}  // namespace

std::unique_ptr<Transform> make(const TimmRandAugmentConfig& config) {
  return std::make_unique<TimmRandAugment>(config, parse_timm_policy(config.policy));
}

}  // namespace paceline::data

void paceline::config::Schema<paceline::data::TimmRandAugmentConfig>::validate(const Config& values,
                                                                               Problems& problems) {
  try {
    data::parse_timm_policy(values.policy);
  } catch (const base::ConfigError& error) {
    problems.add("policy", error.what());
  }
}
