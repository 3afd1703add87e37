#pragma once

#include "paceline/app/recipe/builtin.h"
#include "paceline/app/recipe/recipe.h"
#include "paceline/checkpoint/format/safetensors.h"
#include "paceline/checkpoint/surgery.h"

#include <string>
#include <vector>

namespace paceline::app {

/// A model as MosaicML Composer (0.32) has it, whose surgery puts layers of its own around those of
/// torchvision's network, and so renames their tensors.
struct ComposerModel {
  /// By Composer's names: the ones given, in their order, then what Composer keeps besides, float32
  /// filters that blur.
  std::vector<checkpoint::TensorSource> tensors;
  /// The calls of composer.functional, as Python, that make of torchvision's network, in this
  /// order, one with exactly these tensors, which computes in evaluations what ours does. None for
  /// a network that was not changed.
  std::vector<std::string> calls;
};

/// `tensors` as model_tensors() gives them, of a network that was changed as `record` tells and
/// trained by `recipe`, whose ghost_batchnorm is no change here and one there. Throws ConfigError
/// for a model that is no ResNet of torchvision's, and for changes that Composer has not got.
ComposerModel as_composers(const Recipe& recipe, const checkpoint::SurgeryRecord& record,
                           std::vector<checkpoint::TensorSource> tensors,
                           const Registries& registries);

}  // namespace paceline::app
