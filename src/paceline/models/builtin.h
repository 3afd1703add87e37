#pragma once

#include "paceline/config/registry.h"
#include "paceline/models/airbench/airbench94.h"
#include "paceline/models/convnext/convnext.h"
#include "paceline/models/efficientnet/efficientnet.h"
#include "paceline/models/mobilenet/mobilenet_v3.h"
#include "paceline/models/resnet/resnet.h"
#include "paceline/models/resnet/resnet9.h"
#include "paceline/models/vit/vit.h"
#include "paceline/nn/network.h"

namespace paceline::models {

using Registry = config::Registry<nn::Network>;

/// Registers the ResNets (add_resnets()), the ViTs (add_vits()), ConvNeXts, MobileNets,
/// EfficientNets and airbench94.
void add_builtin(Registry& registry);

}  // namespace paceline::models
