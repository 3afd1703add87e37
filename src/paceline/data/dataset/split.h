#pragma once

namespace paceline::data {

/// The two parts of a data set. CIFAR's test files are its kVal.
enum class Split { kTrain, kVal };

}  // namespace paceline::data
