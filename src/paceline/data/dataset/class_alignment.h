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

/// Throws DataError unless a model for `num_classes` classes suits the data set; says which to
/// change.
void check_num_classes(const Dataset& dataset, int num_classes);

}  // namespace paceline::data
