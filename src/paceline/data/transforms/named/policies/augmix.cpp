#include "paceline/data/transforms/named/policies/augmix.h"

#include "paceline/data/transforms/augment.h"
#include "paceline/data/transforms/draw.h"

#include <cmath>

namespace paceline::data {
namespace {

using enum AugmentOp;

/// torchvision's, in its order; the last four only with all_ops.
constexpr std::array kMixOps = {kShearX,    kShearY,   kTranslateX,   kTranslateY, kRotate,
                                kPosterize, kSolarize, kAutoContrast, kEqualize,   kBrightness,
                                kColor,     kContrast, kSharpness};
constexpr int kNumPlainOps = 9;

/// Gamma of shape `alpha`. Source: Marsaglia and Tsang, "A simple method for generating gamma
/// variables", ACM TOMS 26(3), 2000; below 1 by their power of a uniform number.
double draw_gamma(double alpha, base::Philox& draws) {
  if (alpha < 1) {
    const double above = draw_gamma(alpha + 1, draws);
    return above * std::pow(1.0 - draws.uniform(), 1 / alpha);
  }
  const double d = alpha - 1.0 / 3.0;
  const double c = 1 / std::sqrt(9 * d);
  while (true) {
    const double normal = draws.normal();
    const double cube = std::pow(1 + c * normal, 3);
    if (cube <= 0) continue;
    const double uniform = 1.0 - draws.uniform();
    if (std::log(uniform) < 0.5 * normal * normal + d - d * cube + d * std::log(cube))
      return d * cube;
  }
}

/// Shares of Dirichlet's distribution, all of parameter `alpha`.
void draw_shares(double alpha, std::span<double> shares, base::Philox& draws) {
  double sum = 0;
  for (double& share : shares) sum += share = draw_gamma(alpha, draws);
  // Where all are too small to be told from nothing, one of them has all.
  if (sum == 0) sum = shares[draws.below(shares.size())] = 1;
  for (double& share : shares) share /= sum;
}

class AugMix final : public TransformOf<AugMixConfig> {
 public:
  using TransformOf::TransformOf;
  ImageSize draw(ImageSize image, base::Philox& draws, Plan& plan) const override {
    std::array<double, 2> halves = {};
    draw_shares(config().alpha, halves, draws);
    std::vector<double> shares(static_cast<std::size_t>(config().mixture_width));
    draw_shares(config().alpha, shares, draws);
    plan.emplace_back(MixStep{static_cast<float>(halves[0])});
    for (const double share : shares) {
      const int depth = config().chain_depth ? *config().chain_depth : 1 + draw_below(draws, 3);
      for (int i = 0; i < depth; ++i) append_drawn(image, draws, plan);
      plan.emplace_back(MixInStep{static_cast<float>(share) * static_cast<float>(halves[1])});
    }
    plan.emplace_back(MixedStep{});
    return image;
  }

 private:
  void append_drawn(ImageSize image, base::Philox& draws, Plan& plan) const {
    const AugmentSpace space = mix_space(image);
    const int num_ops = config().all_ops ? static_cast<int>(kMixOps.size()) : kNumPlainOps;
    const AugmentOp op = kMixOps[static_cast<std::size_t>(draw_below(draws, num_ops))];
    double magnitude = 0;
    if (has_magnitude(op))
      magnitude = magnitude_of(op, draw_below(draws, config().severity), space);
    if (has_sign(op) && draw_sign(draws)) magnitude = -magnitude;
    append_augment(op, magnitude, image, draw_filter(config().interpolation, draws), config().fill,
                   plan);
  }
};

}  // namespace

std::unique_ptr<Transform> make(const AugMixConfig& config) {
  return std::make_unique<AugMix>(config);
}

}  // namespace paceline::data
