#pragma once

#include "paceline/app/recipe/progressive_resizing.h"
#include "paceline/data/image/pixels.h"
#include "paceline/train/algorithm.h"

#include <memory>

namespace paceline::app {

struct DataPart;  // app/assembly/data_assembly.h

/// What is left of images of size `whole` whose shorter side is to have `shorter` pixels, where
/// data.progressive_resizing.mode is not loader.
data::ImageSize resized_after_loader(data::ImageSize whole, int shorter);

/// What makes the training images of a run smaller after the loader; nullptr: the recipe wants
/// none. The data part has its sizes and outlives nothing of it.
std::unique_ptr<train::Algorithm> make_batch_resizing(const ProgressiveResizing& config,
                                                      const DataPart& part);

}  // namespace paceline::app
