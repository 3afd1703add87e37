#pragma once

#include "paceline/config/schema.h"
#include "paceline/data/transforms/augment_policies.h"
#include "paceline/data/transforms/interpolation.h"
#include "paceline/data/transforms/transform.h"

#include <array>
#include <memory>
#include <string_view>
#include <tuple>

namespace paceline::data {

/// One of 25 learned pairs of operations, each with its own probability and magnitude. Draws the
/// pair, two uniform numbers, two signs.
struct AutoAugmentConfig {
  AugmentPolicy policy = AugmentPolicy::kImageNet;
  AffineInterpolation interpolation = AffineInterpolation::kNearest;
  std::array<int, 3> fill = {0, 0, 0};
};

std::unique_ptr<Transform> make(const AutoAugmentConfig& config);

}  // namespace paceline::data

template <>
struct paceline::config::EnumNames<paceline::data::AugmentPolicy> {
  static constexpr std::array names{EnumName{data::AugmentPolicy::kImageNet, "imagenet"},
                                    EnumName{data::AugmentPolicy::kCifar10, "cifar10"},
                                    EnumName{data::AugmentPolicy::kSvhn, "svhn"}};
};

template <>
struct paceline::config::Schema<paceline::data::AutoAugmentConfig> {
  using Config = data::AutoAugmentConfig;
  static constexpr std::string_view name = "auto_augment";
  static constexpr std::string_view summary =
      "One of 25 learned pairs of operations, as torchvision has them.";
  static constexpr std::string_view paper =
      "Cubuk et al., \"AutoAugment: learning augmentation strategies from data\", CVPR 2019.";
  static constexpr auto fields =
      std::tuple{field(&Config::policy, "policy", "Data set that the pairs were learned on."),
                 field(&Config::interpolation, "interpolation", "Filter of what moves pixels."),
                 field(&Config::fill, "fill", "Red, green and blue of what comes in from outside.",
                       InRange{0, 255})};
};
