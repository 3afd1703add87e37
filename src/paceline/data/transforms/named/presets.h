#pragma once

#include "paceline/data/transforms/transform.h"

#include <vector>

namespace paceline::data {

/// RandomResizedCrop, flip, ImageNet's normalisation.
std::vector<TransformConfig> imagenet_train(int size = 224);
/// Resize of the shorter side, centre crop, ImageNet's normalisation.
std::vector<TransformConfig> imagenet_eval(int resize = 256, int crop = 224);
/// Random crop of 32 pixels after a border of 4, flip, CIFAR's normalisation.
std::vector<TransformConfig> cifar_train();
/// CIFAR's normalisation of the 32 x 32 image.
std::vector<TransformConfig> cifar_eval();
/// MNIST's normalisation, in training too: a turned digit is another one.
std::vector<TransformConfig> mnist(int size = 28);

}  // namespace paceline::data
