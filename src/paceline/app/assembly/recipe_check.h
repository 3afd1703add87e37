#pragma once

#include "paceline/app/recipe/builtin.h"
#include "paceline/app/recipe/recipe.h"

#include <memory>
#include <span>
#include <string>
#include <vector>

namespace paceline::app {

/// A wrong name of a metric would end the run, or be ignored, only after the first evaluation.
/// Throws ConfigError that names those of a model with these counts if checkpoint.monitor,
/// train.stop_when or a callback looks at another one, or at any when nothing is evaluated.
void check_metric_names(const Recipe& recipe, bool evaluates,
                        std::span<const train::Metric> metrics,
                        std::span<const std::unique_ptr<train::Algorithm>> algorithms,
                        std::span<const std::unique_ptr<train::Callback>> callbacks);

/// What `train` would refuse of a recipe as it was written before it opens data, beyond what its
/// schema says and apart from what hangs on ranks or the device, a message each. Builds each part
/// once; models have no memory meanwhile.
std::vector<std::string> problems_without_data(const Recipe& written, const Registries& registries);

}  // namespace paceline::app
