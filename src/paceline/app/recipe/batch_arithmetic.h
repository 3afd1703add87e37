#pragma once

#include "paceline/app/recipe/recipe.h"

#include <cstdint>
#include <string>
#include <string_view>

namespace paceline::app {

/// How a run's batches follow from the recipe, the data and the number of ranks.
struct BatchArithmetic {
  std::int64_t global_batch_size = 0;
  int world_size = 1;
  int grad_accum_steps = 1;
  config::StepLengths lengths;

  /// The largest of all ranks' shares, and of their microbatches.
  std::int64_t samples_per_rank() const;
  std::int64_t microbatch() const;

  /// For the banner: "64 images a step = 2 ranks x 16 x 2 microbatches", by what `samples` are.
  std::string text(std::string_view samples = "samples") const;
};

/// As given, or as follows from data.batch_size_per_rank and the number of ranks, or the default.
std::int64_t global_batch_size_of(const DataSection& data, int world_size);

/// The learning rate that the schedule scales, from the optimizer's.
struct BaseLr {
  double value = 0;
  std::string text;  ///< "0.4 = 0.1 x 1024 / 256 (train.lr_scaling)", or the number
};

/// By train.lr_scaling.
BaseLr base_lr_of(double optimizer_lr, const train::TrainerConfig& config,
                  std::int64_t global_batch_size);

/// Throws ConfigError when the duration has no end in steps although something needs one.
BatchArithmetic batch_arithmetic(const Recipe& recipe, std::int64_t train_samples, int world_size);

}  // namespace paceline::app
