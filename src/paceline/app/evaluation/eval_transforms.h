#pragma once

#include "paceline/app/evaluation/eval_views.h"
#include "paceline/data/loader/sample_maker.h"
#include "paceline/data/transforms/transform.h"

#include <memory>
#include <string_view>
#include <vector>

namespace paceline::app {

/// The fields of a ten-crop's samples: the middle is kImagesField, and the corners are these.
inline constexpr std::string_view kCornerFields[] = {
    "images of top left", "images of top right", "images of bottom left", "images of bottom right"};

/// Evaluation transforms with another size or crop percentage: of the last resize and centre crop,
/// as timm has it: the shorter side becomes the piece divided by the percentage, rounded down. What
/// is not given stays as it is. Throws ConfigError for transforms that have neither.
std::vector<data::TransformConfig> with_views(std::vector<data::TransformConfig> transforms,
                                              const EvalViews& views);

/// Makes the five pieces of each image that these transforms cut the middle of, by a centre crop.
/// Throws ConfigError if they have none.
std::shared_ptr<const data::SampleMaker> make_five_crops(
    const std::vector<data::TransformConfig>& transforms, bool channels_last);

}  // namespace paceline::app
