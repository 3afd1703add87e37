#include "paceline/data/transforms/named/policies/rand_augment.h"

#include "paceline/base/error.h"
#include "paceline/data/transforms/augment.h"
#include "paceline/data/transforms/draw.h"
#include "paceline/data/transforms/named/policies/timm_rand_augment.h"
#include "paceline/data/transforms/timm_policy.h"

namespace paceline::data {
namespace {

constexpr int kUsualOps = 2;
constexpr int kUsualMagnitude = 9;
constexpr int kUsualBins = 31;

int num_ops_of(const RandAugmentConfig& config) { return config.num_ops.value_or(kUsualOps); }

int chosen_magnitude(const RandAugmentConfig& config) {
  return config.magnitude.value_or(kUsualMagnitude);
}

int num_bins_of(const RandAugmentConfig& config) {
  return config.num_magnitude_bins.value_or(kUsualBins);
}

class RandAugment final : public TransformOf<RandAugmentConfig> {
 public:
  using TransformOf::TransformOf;
  ImageSize draw(ImageSize image, base::Philox& draws, Plan& plan) const override {
    const AugmentSpace space = standard_space(num_bins_of(config()), image);
    const auto filter = config().interpolation.value_or(AffineInterpolation::kNearest);
    const std::array<int, 3> fill = config().fill.value_or(std::array{0, 0, 0});
    for (int i = 0; i < num_ops_of(config()); ++i) {
      const auto op = static_cast<AugmentOp>(draws.below(kNumRandAugmentOps));
      double magnitude = magnitude_of(op, chosen_magnitude(config()), space);
      if (has_sign(op) && draw_sign(draws)) magnitude = -magnitude;
      append_augment(op, magnitude, image, draw_filter(filter, draws), fill, plan);
    }
    return image;
  }
};

class ComposerRandAugment final : public TransformOf<RandAugmentConfig> {
 public:
  using TransformOf::TransformOf;
  ImageSize draw(ImageSize image, base::Philox& draws, Plan& plan) const override {
    for (int i = 0; i < num_ops_of(config()); ++i)
      append_drawn_composer(config().ops.value_or(ComposerSet::kAll), chosen_magnitude(config()),
                            image, draws, plan);
    return image;
  }
};

/// timm_rand_augment by the name rand_augment.
class PolicyRandAugment final : public TransformOf<RandAugmentConfig> {
 public:
  PolicyRandAugment(const RandAugmentConfig& config, std::unique_ptr<Transform> policy)
      : TransformOf(config), policy_(std::move(policy)) {}
  ImageSize draw(ImageSize image, base::Philox& draws, Plan& plan) const override {
    return policy_->draw(image, draws, plan);
  }

 private:
  std::unique_ptr<Transform> policy_;
};

std::unique_ptr<Transform> make_timms(const RandAugmentConfig& config) {
  TimmRandAugmentConfig timms;
  if (config.policy) timms.policy = *config.policy;
  if (config.interpolation) timms.interpolation = *config.interpolation;
  if (config.fill) timms.fill = *config.fill;
  return make(timms);
}

void check_policy(const std::string& policy, config::Problems& problems) {
  try {
    parse_timm_policy(policy);
  } catch (const base::ConfigError& error) {
    problems.add("policy", error.what());
  }
}

}  // namespace

std::unique_ptr<Transform> make(const RandAugmentConfig& config) {
  switch (config.family) {
    case AugmentFamily::kComposer:
      return std::make_unique<ComposerRandAugment>(config);
    case AugmentFamily::kTimm:
      return std::make_unique<PolicyRandAugment>(config, make_timms(config));
    case AugmentFamily::kTorchvision:
      break;
  }
  return std::make_unique<RandAugment>(config);
}

}  // namespace paceline::data

void paceline::config::Schema<paceline::data::RandAugmentConfig>::validate(const Config& values,
                                                                           Problems& problems) {
  using enum data::AugmentFamily;
  data::refuse_others_settings(
      values.family,
      {{"num_ops", values.num_ops.has_value(), {kTorchvision, kComposer}},
       {"magnitude", values.magnitude.has_value(), {kTorchvision, kComposer}},
       {"num_magnitude_bins", values.num_magnitude_bins.has_value(), {kTorchvision}},
       {"ops", values.ops.has_value(), {kComposer}},
       {"policy", values.policy.has_value(), {kTimm}},
       {"interpolation", values.interpolation.has_value(), {kTorchvision, kTimm}},
       {"fill", values.fill.has_value(), {kTorchvision, kTimm}}},
      problems);
  const int magnitude = data::chosen_magnitude(values);
  if (values.family == kTorchvision && magnitude >= data::num_bins_of(values))
    problems.add("magnitude", "it must be below num_magnitude_bins");
  if (values.family == kComposer && magnitude > 10)
    problems.add("magnitude", fmt::format("composer's are at most 10, got {}", magnitude));
  if (values.family == kTimm && values.policy) data::check_policy(*values.policy, problems);
}
