#pragma once

#include "paceline/data/dataset/dataset.h"

#include <memory>
#include <span>
#include <string>

namespace paceline::data {

/// The data set with the labels that `class_names` give to its classes, by their names: those of
/// the training data, which validation data may lack or list otherwise. The same data set if the
/// labels agree already, or either side only numbers its classes. Throws DataError that lists
/// classes which are not among them.
std::unique_ptr<Dataset> align_classes(std::unique_ptr<Dataset> dataset,
                                       std::span<const std::string> class_names);

}  // namespace paceline::data
