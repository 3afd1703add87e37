#pragma once

#include "paceline/models/vit/vit.h"

namespace paceline::models {

/// Draws one of a ViT's parameters as config.weight_init says; `patch_weight` is that of its patch
/// embedding, of which only the sizes count.
void initialize_vit_parameter(const VitConfig& config, const at::Tensor& patch_weight,
                              const nn::NamedTensor& parameter, const tensor::DrawKey& key);

}  // namespace paceline::models
