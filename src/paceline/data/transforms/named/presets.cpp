#include "paceline/data/transforms/named/presets.h"

#include "paceline/data/transforms/named/geometry/center_crop.h"
#include "paceline/data/transforms/named/geometry/random_crop.h"
#include "paceline/data/transforms/named/geometry/random_horizontal_flip.h"
#include "paceline/data/transforms/named/geometry/random_resized_crop.h"
#include "paceline/data/transforms/named/geometry/resize.h"
#include "paceline/data/transforms/normalize.h"

namespace paceline::data {
namespace {

/// The deviations are those of all pixels, not the widespread means of the images' deviations.
constexpr NormalizeConfig kCifar = {{0.4914, 0.4822, 0.4465}, {0.2470, 0.2435, 0.2616}};

constexpr NormalizeConfig kMnist = {{0.1307, 0.1307, 0.1307}, {0.3081, 0.3081, 0.3081}};

}  // namespace

std::vector<TransformConfig> imagenet_train(const config::Sides& size) {
  return {RandomResizedCropConfig{.size = size}, RandomHorizontalFlipConfig{}, NormalizeConfig{}};
}

std::vector<TransformConfig> imagenet_eval(const config::Sides& resize, const config::Sides& crop) {
  return {ResizeConfig{.size = resize}, CenterCropConfig{.size = crop}, NormalizeConfig{}};
}

std::vector<TransformConfig> cifar_train() {
  return {RandomCropConfig{.size = 32, .padding = 4}, RandomHorizontalFlipConfig{}, kCifar};
}

std::vector<TransformConfig> cifar_eval() { return {CenterCropConfig{.size = 32}, kCifar}; }

std::vector<TransformConfig> mnist(const config::Sides& size) {
  return {ResizeConfig{.size = size}, CenterCropConfig{.size = size}, kMnist};
}

}  // namespace paceline::data
