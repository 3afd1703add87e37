#pragma once

#include "paceline/models/ct_cascade/denoiser_block.h"
#include "paceline/nn/pass_memory/shaped_pass.h"

namespace paceline::models {

/// What DenoiserBlock::forward() makes and keeps in a training pass, of shapes alone, fused where
/// it would be: tokens, condition, keys and values as there.
nn::Shaped shaped_block(const DenoiserBlockConfig& config, const DenoiserShape& shape,
                        const std::vector<nn::Shaped>& inputs, nn::ShapedPass& pass);

/// modulated_norm() of rows by factors of so many samples.
nn::Shaped shaped_modulated_norm(const nn::Shaped& rows, const nn::Shaped& factors,
                                 std::int64_t num_rows, nn::ShapedPass& pass);

}  // namespace paceline::models
