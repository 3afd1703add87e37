#pragma once

#include "paceline/app/recipe/recipe.h"

#include <cstdint>
#include <string>

namespace paceline::app {

/// How a run's batches follow from the recipe, the data and the number of ranks.
struct BatchArithmetic {
  std::int64_t global_batch_size = 0;
  int world_size = 1;
  int grad_accum_steps = 1;
  config::StepLengths lengths;

  /// The largest of all ranks' shares, and of their microbatches.
  std::int64_t images_per_rank() const;
  std::int64_t microbatch() const;

  /// For the banner: "64 images a step = 2 ranks x 16 x 2 microbatches".
  std::string text() const;
};

/// As given, or as follows from data.batch_size_per_rank and the number of ranks, or the default.
std::int64_t global_batch_size_of(const DataSection& data, int world_size);

/// Throws ConfigError when the duration has no end in steps although something needs one.
BatchArithmetic batch_arithmetic(const Recipe& recipe, std::int64_t train_samples, int world_size);

}  // namespace paceline::app
