#pragma once

#include "paceline/data/transforms/transform.h"

#include <vector>

namespace paceline::data {

/// RandomResizedCrop, flip, ImageNet's normalisation.
std::vector<TransformConfig> imagenet_train(const config::Sides& size = 224);
/// Resize of the shorter side, or to both, centre crop, ImageNet's normalisation.
std::vector<TransformConfig> imagenet_eval(const config::Sides& resize = 256,
                                           const config::Sides& crop = 224);
/// Random crop of 32 pixels after a border of 4, flip, CIFAR's normalisation.
std::vector<TransformConfig> cifar_train();
/// CIFAR's normalisation of the 32 x 32 image.
std::vector<TransformConfig> cifar_eval();
/// MNIST's normalisation, in training too: a turned digit is another one.
std::vector<TransformConfig> mnist(const config::Sides& size = 28);

}  // namespace paceline::data
