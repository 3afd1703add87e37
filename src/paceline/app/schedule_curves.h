#pragma once

#include "paceline/app/recipe/builtin.h"
#include "paceline/app/recipe/recipe.h"

#include <cstdint>
#include <string>
#include <vector>

namespace paceline::app {

/// A number of a run as a function of the optimizer step.
struct ScheduleCurve {
  std::string name;                 ///< of the key that it begins at: "optimizer.lr"
  std::vector<std::int64_t> steps;  ///< rising, from 0 to the last step
  std::vector<double> values;       ///< one for each
};

/// What a run would do to its numbers.
struct ScheduleCurves {
  std::int64_t total_steps = 0;
  std::int64_t steps_per_epoch = 0;
  std::vector<ScheduleCurve> curves;  ///< what changes over the run, and the learning rate
  /// "optimizer.weight_decay = 0.05": what does not, of what other trainers change.
  std::vector<std::string> constants;
};

/// Of a run on that many training samples and ranks; curves have at most `most_points` points.
/// Throws ConfigError for a run whose length in steps nobody knows.
ScheduleCurves schedule_curves(const Recipe& recipe, const Registries& registries,
                               std::int64_t train_samples, int world_size, int most_points);

}  // namespace paceline::app
