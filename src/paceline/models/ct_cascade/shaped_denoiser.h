#pragma once

#include "paceline/models/ct_cascade/volume_denoiser.h"
#include "paceline/nn/pass_memory/shaped_pass.h"

namespace paceline::models {

/// What VolumeDenoiser's encode() and denoise() of samples make and keep in a training pass, of
/// shapes alone: volumes [samples, side, side, side]. Of a stage behind another `previous` is the
/// volumes of that one.
nn::Shaped shaped_denoiser(const VolumeDenoiserConfig& config, nn::ShapedPass& pass);

}  // namespace paceline::models
