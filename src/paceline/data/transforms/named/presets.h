#pragma once

#include "paceline/config/type_info.h"
#include "paceline/data/transforms/transform.h"

#include <array>
#include <vector>

namespace paceline::data {

/// How strongly training images are changed: not at all, as evaluated; by crops and flips, the
/// usual for the data set; by a mild policy of random operations too; by a strong one and erased
/// boxes.
enum class Augmentation { kNone, kWeak, kMedium, kStrong };

/// RandomResizedCrop, flip, ImageNet's normalisation; medium: with TrivialAugmentWide; strong: with
/// timm's RandAugment of magnitude 9 and random erasing. Not for kNone, which is imagenet_eval().
std::vector<TransformConfig> imagenet_train(const config::Sides& size = 224,
                                            Augmentation augmentation = Augmentation::kWeak);
/// Resize of the shorter side, or to both, centre crop, ImageNet's normalisation.
std::vector<TransformConfig> imagenet_eval(const config::Sides& resize = 256,
                                           const config::Sides& crop = 224);
/// Random crop of 32 pixels after a border of 4, flip, CIFAR's normalisation; medium and strong as
/// imagenet_train().
std::vector<TransformConfig> cifar_train(Augmentation augmentation = Augmentation::kWeak);
/// CIFAR's normalisation of the 32 x 32 image.
std::vector<TransformConfig> cifar_eval();
/// MNIST's normalisation, in training too: a turned digit is another one. Medium and strong turn,
/// move and scale by little; strong shears and erases too.
std::vector<TransformConfig> mnist(const config::Sides& size = 28,
                                   Augmentation augmentation = Augmentation::kWeak);

}  // namespace paceline::data

template <>
struct paceline::config::EnumNames<paceline::data::Augmentation> {
  static constexpr std::array names{EnumName{data::Augmentation::kNone, "none"},
                                    EnumName{data::Augmentation::kWeak, "weak"},
                                    EnumName{data::Augmentation::kMedium, "medium"},
                                    EnumName{data::Augmentation::kStrong, "strong"}};
};
