#pragma once

#include "paceline/app/recipe/recipe.h"
#include "paceline/data/dataset/split.h"
#include "paceline/data/sources/dataset_plan.h"

#include <vector>

namespace paceline::app {

/// What the network sees where data.image_size, data.preprocessing or the data set decides.
config::Sides image_size_of(const DataSection& section, const data::DatasetPlan& plan);

/// The transforms of a split where the recipe has none; for a data set of images.
std::vector<data::TransformConfig> usual_transforms(const DataSection& section,
                                                    const data::DatasetPlan& plan,
                                                    data::Split split);

}  // namespace paceline::app
