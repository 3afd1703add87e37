#include "paceline/data/transforms/named/policies/augmix.h"

#include "paceline/data/transforms/augment.h"
#include "paceline/data/transforms/composer_augment.h"
#include "paceline/data/transforms/draw.h"
#include "paceline/data/transforms/timm_augment.h"

#include <cmath>
#include <span>
#include <utility>
#include <vector>

namespace paceline::data {
namespace {

/// torchvision's, in its order; the last four only with all_ops.
constexpr auto torchvision_mix_ops() {
  using enum AugmentOp;
  return std::array{kShearX,    kShearY,   kTranslateX,   kTranslateY, kRotate,
                    kPosterize, kSolarize, kAutoContrast, kEqualize,   kBrightness,
                    kColor,     kContrast, kSharpness};
}
constexpr auto kMixOps = torchvision_mix_ops();
constexpr int kNumPlainOps = 9;

constexpr auto timm_mix_ops() {
  using enum TimmOp;
  return std::array{kAutoContrast,
                    kColorIncreasing,
                    kContrastIncreasing,
                    kBrightnessIncreasing,
                    kSharpnessIncreasing,
                    kEqualize,
                    kRotate,
                    kPosterizeIncreasing,
                    kSolarizeIncreasing,
                    kShearX,
                    kShearY,
                    kTranslateXRel,
                    kTranslateYRel};
}
constexpr auto kTimmMixOps = timm_mix_ops();
constexpr std::array kTimmFill = {124, 116, 104};

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

/// One family's operations.
class MixOps {
 public:
  virtual ~MixOps() = default;
  virtual void append_drawn(ImageSize image, base::Philox& draws, Plan& plan) const = 0;
};

class TorchvisionMixOps final : public MixOps {
 public:
  explicit TorchvisionMixOps(const AugMixConfig& config)
      : severity_(config.severity),
        num_ops_(config.all_ops.value_or(true) ? static_cast<int>(kMixOps.size()) : kNumPlainOps),
        interpolation_(config.interpolation.value_or(AffineInterpolation::kBilinear)),
        fill_(config.fill.value_or(std::array{0, 0, 0})) {}
  void append_drawn(ImageSize image, base::Philox& draws, Plan& plan) const override {
    const AugmentSpace space = mix_space(image);
    const AugmentOp op = kMixOps[static_cast<std::size_t>(draw_below(draws, num_ops_))];
    double magnitude = 0;
    if (has_magnitude(op)) magnitude = magnitude_of(op, draw_below(draws, severity_), space);
    if (has_sign(op) && draw_sign(draws)) magnitude = -magnitude;
    append_augment(op, magnitude, image, draw_filter(interpolation_, draws), fill_, plan);
  }

 private:
  int severity_;
  int num_ops_;
  AffineInterpolation interpolation_;
  std::array<int, 3> fill_;
};

class ComposerMixOps final : public MixOps {
 public:
  explicit ComposerMixOps(const AugMixConfig& config)
      : severity_(config.severity), set_(config.ops.value_or(ComposerSet::kAll)) {}
  void append_drawn(ImageSize image, base::Philox& draws, Plan& plan) const override {
    append_drawn_composer(set_, severity_, image, draws, plan);
  }

 private:
  double severity_;
  ComposerSet set_;
};

class TimmMixOps final : public MixOps {
 public:
  explicit TimmMixOps(const AugMixConfig& config)
      : severity_(config.severity),
        interpolation_(config.interpolation.value_or(AffineInterpolation::kRandom)),
        fill_(fill_color(config.fill.value_or(kTimmFill))) {}
  void append_drawn(ImageSize image, base::Philox& draws, Plan& plan) const override {
    const TimmOp op = kTimmMixOps[draws.below(kTimmMixOps.size())];
    const double level = draws.uniform(0.0, severity_);
    const bool is_reversed = has_sign(op) && draws.below(2) != 0;
    const auto filter =
        moves_pixels(op) ? draw_filter(interpolation_, draws) : AffineInterpolation::kNearest;
    append_timm(op, timm_argument(op, level, is_reversed), image, filter, fill_, plan);
  }

 private:
  double severity_;
  AffineInterpolation interpolation_;
  FillColor fill_;
};

std::unique_ptr<const MixOps> mix_ops(const AugMixConfig& config) {
  switch (config.family) {
    case AugmentFamily::kComposer:
      return std::make_unique<ComposerMixOps>(config);
    case AugmentFamily::kTimm:
      return std::make_unique<TimmMixOps>(config);
    case AugmentFamily::kTorchvision:
      break;
  }
  return std::make_unique<TorchvisionMixOps>(config);
}

/// How the shares enter: torchvision adds all at once, Composer has the chains' sum before it adds
/// the image, and timm makes an image of the chains.
struct MixShares {
  float own = 0;     ///< of the image, before the chains
  float chains = 1;  ///< that each chain's own share is multiplied by
  MixedStep end;
};

MixShares mix_shares(AugmentFamily family, float own, float chains) {
  switch (family) {
    case AugmentFamily::kComposer:
      return {.end = {.sum_share = chains, .own_share = 1.0f - chains}};
    case AugmentFamily::kTimm:
      return {.end = {.blended = chains}};
    case AugmentFamily::kTorchvision:
      break;
  }
  return {.own = own, .chains = chains, .end = {}};
}

class AugMix final : public TransformOf<AugMixConfig> {
 public:
  explicit AugMix(const AugMixConfig& config) : TransformOf(config), ops_(mix_ops(config)) {}
  ImageSize draw(ImageSize image, base::Philox& draws, Plan& plan) const override {
    std::array<double, 2> halves = {};
    draw_shares(config().alpha, halves, draws);
    std::vector<double> shares(static_cast<std::size_t>(config().mixture_width));
    draw_shares(config().alpha, shares, draws);
    const MixShares mixed =
        mix_shares(config().family, static_cast<float>(halves[0]), static_cast<float>(halves[1]));
    plan.emplace_back(MixStep{mixed.own});
    for (const double share : shares) {
      const int depth = config().chain_depth ? *config().chain_depth : 1 + draw_below(draws, 3);
      for (int i = 0; i < depth; ++i) ops_->append_drawn(image, draws, plan);
      plan.emplace_back(MixInStep{static_cast<float>(share) * mixed.chains});
    }
    plan.emplace_back(mixed.end);
    return image;
  }

 private:
  std::unique_ptr<const MixOps> ops_;
};

}  // namespace

std::unique_ptr<Transform> make(const AugMixConfig& config) {
  return std::make_unique<AugMix>(config);
}

}  // namespace paceline::data

void paceline::config::Schema<paceline::data::AugMixConfig>::validate(const Config& values,
                                                                      Problems& problems) {
  using enum data::AugmentFamily;
  data::refuse_others_settings(
      values.family,
      {{"all_ops", values.all_ops.has_value(), {kTorchvision}},
       {"ops", values.ops.has_value(), {kComposer}},
       {"interpolation", values.interpolation.has_value(), {kTorchvision, kTimm}},
       {"fill", values.fill.has_value(), {kTorchvision, kTimm}}},
      problems);
  if (values.family == kTorchvision && values.severity == 0)
    problems.add("severity", "torchvision's are at least 1, got 0");
}
