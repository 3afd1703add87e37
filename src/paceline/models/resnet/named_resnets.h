#pragma once

#include "paceline/config/registry.h"
#include "paceline/nn/network.h"

namespace paceline::models {

/// Registers every ResNet that has a name: torchvision's ResNets, ResNeXts and Wide ResNets, timm's
/// ResNet-D and its like, the ResNets of CIFAR, `resnet9`, and `resnet` of any size.
void add_resnets(config::Registry<nn::Network>& registry);

}  // namespace paceline::models
