#pragma once

#include "paceline/config/registry.h"
#include "paceline/nn/network.h"

namespace paceline::models {

/// Registers every ViT that has a name of timm's (ViT, DeiT, DeiT III, DINOv2's with and without
/// registers), `vit_tiny_patch32_224`, and `vit` of any size.
void add_vits(config::Registry<nn::Network>& registry);

}  // namespace paceline::models
