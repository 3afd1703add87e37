#pragma once

#include "paceline/data/transforms/augment.h"

#include <array>
#include <span>

namespace paceline::data {

/// The data sets that torchvision has AutoAugment's policies of.
enum class AugmentPolicy { kImageNet, kCifar10, kSvhn };

/// One operation of AutoAugment, taken with this probability; level 0 .. 9 of its magnitudes.
struct PolicyOp {
  AugmentOp op = AugmentOp::kIdentity;
  double probability = 0.0;
  int level = 0;
};
using PolicyPair = std::array<PolicyOp, 2>;

/// torchvision's 25 pairs of each policy. Paper: Cubuk et al., "AutoAugment: learning augmentation
/// strategies from data", CVPR 2019.
std::span<const PolicyPair> policy_pairs(AugmentPolicy policy);

}  // namespace paceline::data
