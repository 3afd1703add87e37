#pragma once

#include "paceline/config/component.h"
#include "paceline/data/dataset/dataset.h"

#include <vector>

namespace paceline::app {

/// Whether a loss is to weigh classes by how rare they are, and has not been told the weights.
bool wants_class_balance(const config::Component& loss);

/// Weights by which each class of a data set counts as much as any other, the mean over the samples
/// being 1, as scikit-learn's "balanced": samples / (classes that occur * samples of the class); 1
/// of a class that has none.
std::vector<double> balanced_class_weights(const data::Dataset& dataset);

}  // namespace paceline::app
