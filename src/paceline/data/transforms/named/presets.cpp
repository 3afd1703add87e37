#include "paceline/data/transforms/named/presets.h"

#include "paceline/data/transforms/named/geometry/center_crop.h"
#include "paceline/data/transforms/named/geometry/random_affine.h"
#include "paceline/data/transforms/named/geometry/random_crop.h"
#include "paceline/data/transforms/named/geometry/random_horizontal_flip.h"
#include "paceline/data/transforms/named/geometry/random_resized_crop.h"
#include "paceline/data/transforms/named/geometry/resize.h"
#include "paceline/data/transforms/named/policies/timm_rand_augment.h"
#include "paceline/data/transforms/named/policies/trivial_augment_wide.h"
#include "paceline/data/transforms/named/random_erasing.h"
#include "paceline/data/transforms/normalize.h"

namespace paceline::data {
namespace {

/// The deviations are those of all pixels, not the widespread means of the images' deviations.
constexpr NormalizeConfig kCifar = {{0.4914, 0.4822, 0.4465}, {0.2470, 0.2435, 0.2616}};

constexpr NormalizeConfig kMnist = {{0.1307, 0.1307, 0.1307}, {0.3081, 0.3081, 0.3081}};

/// What comes in from outside: the mean colour.
constexpr std::array<int, 3> kPhotoFill = {124, 116, 104};
constexpr std::array<int, 3> kCifarFill = {125, 123, 114};

constexpr RandomErasingConfig kErasing = {.p = 0.25};

/// A policy in front of the normalisation, which is the last, and erasing behind it.
std::vector<TransformConfig> strengthened(std::vector<TransformConfig> usual,
                                          Augmentation augmentation,
                                          const std::array<int, 3>& fill) {
  if (augmentation == Augmentation::kMedium) {
    usual.insert(
        usual.end() - 1,
        TrivialAugmentWideConfig{.interpolation = AffineInterpolation::kBilinear, .fill = fill});
  } else if (augmentation == Augmentation::kStrong) {
    usual.insert(usual.end() - 1, TimmRandAugmentConfig{.fill = fill});
    usual.emplace_back(kErasing);
  }
  return usual;
}

}  // namespace

std::vector<TransformConfig> imagenet_train(const config::Sides& size, Augmentation augmentation) {
  return strengthened(
      {RandomResizedCropConfig{.size = size}, RandomHorizontalFlipConfig{}, NormalizeConfig{}},
      augmentation, kPhotoFill);
}

std::vector<TransformConfig> imagenet_eval(const config::Sides& resize, const config::Sides& crop) {
  return {ResizeConfig{.size = resize}, CenterCropConfig{.size = crop}, NormalizeConfig{}};
}

std::vector<TransformConfig> cifar_train(Augmentation augmentation) {
  return strengthened(
      {RandomCropConfig{.size = 32, .padding = 4}, RandomHorizontalFlipConfig{}, kCifar},
      augmentation, kCifarFill);
}

std::vector<TransformConfig> cifar_eval() { return {CenterCropConfig{.size = 32}, kCifar}; }

std::vector<TransformConfig> mnist(const config::Sides& size, Augmentation augmentation) {
  std::vector<TransformConfig> transforms = {ResizeConfig{.size = size},
                                             CenterCropConfig{.size = size}, kMnist};
  RandomAffineConfig affine = {.degrees = {-10, 10},
                               .translate = {0.1, 0.1},
                               .scale = {0.9, 1.1},
                               .interpolation = AffineInterpolation::kBilinear};
  if (augmentation == Augmentation::kMedium) {
    transforms.insert(transforms.end() - 1, affine);
  } else if (augmentation == Augmentation::kStrong) {
    affine.scale = {0.8, 1.2};
    affine.shear_x = {-10, 10};
    transforms.insert(transforms.end() - 1, affine);
    transforms.emplace_back(kErasing);
  }
  return transforms;
}

}  // namespace paceline::data
