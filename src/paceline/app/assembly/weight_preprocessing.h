#pragma once

#include "paceline/data/transforms/transform.h"
#include "paceline/pretrained/preprocessing.h"

#include <span>
#include <string>

namespace paceline::app {

/// In what the transforms of images for evaluations differ from how they were prepared for the
/// evaluation that weights are published with: both, and the setting that follows the weights, in
/// one text. Empty if they agree as far as is known.
std::string contradictions(const pretrained::Preprocessing& of_weights,
                           std::span<const data::TransformConfig> transforms);

}  // namespace paceline::app
