#pragma once

#include "paceline/app/recipe/preprocessing.h"
#include "paceline/app/recipe/recipe.h"
#include "paceline/checkpoint/manifest.h"
#include "paceline/data/transforms/transform.h"
#include "paceline/pretrained/preprocessing.h"

#include <optional>
#include <span>
#include <string>

namespace paceline::app {

struct Registries;  // app/recipe/builtin.h

/// The preprocessing that belongs to weights, in a recipe's words. What no recipe can say is null.
Preprocessing in_words_of_recipe(const pretrained::Preprocessing& published);

/// What the run of a checkpoint took or was told; nothing in older ones.
Preprocessing preprocessing_of(const checkpoint::Manifest& manifest, const Registries& registries);

/// Text that parse_preprocessing() reads, the same for the same values.
std::string to_text(const Preprocessing& preprocessing);
/// Throws ConfigError.
Preprocessing parse_preprocessing(const std::string& text, const std::string& source,
                                  const Registries& registries);

/// What came of the preprocessing of weights, for people; empty if there is nothing to say.
struct TakenPreprocessing {
  std::string taken;           ///< what the recipe had left open
  std::string contradictions;  ///< what it wants otherwise
};

/// Has a recipe for images prepare them as they were for its weights, where it says nothing else:
/// fills data.preprocessing. mean and std are for training and evaluation alike, so they are not
/// taken where a written list of transforms has others. The size is that of the network where it
/// can have no other.
TakenPreprocessing take_preprocessing(const Preprocessing& of_weights, const Registries& registries,
                                      Recipe& recipe);

/// In what transforms differ from how images were prepared for weights: both sides, in one text.
/// Of training only the normalisation counts. Empty if they agree as far as is known.
std::string contradictions(const Preprocessing& of_weights,
                           std::span<const data::TransformConfig> eval_transforms,
                           std::span<const data::TransformConfig> train_transforms);

}  // namespace paceline::app
