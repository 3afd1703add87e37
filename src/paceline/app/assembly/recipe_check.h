#pragma once

#include "paceline/app/recipe/batch_arithmetic.h"
#include "paceline/app/recipe/builtin.h"
#include "paceline/app/recipe/phases.h"
#include "paceline/app/recipe/recipe.h"

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace paceline::app {

/// A wrong name of a metric would end the run, or be ignored, only after the first evaluation.
/// Throws ConfigError that names those of the task if checkpoint.monitor,
/// train.stop_when, an algorithm or a callback looks at another one, or at any when nothing is
/// evaluated; also if what a callback logs of its own would stand under the name of something else.
void check_metric_names(const Recipe& recipe, bool evaluates, const train::Task& task,
                        std::span<const std::unique_ptr<train::Algorithm>> algorithms,
                        std::span<const std::unique_ptr<train::Callback>> callbacks);

/// Throws ConfigError for a schedule of the momentum and an optimizer that has none to follow it.
void check_momentum(const optim::Schedule& schedule, const optim::OptimizerPlan& plan);

/// Throws ConfigError if the loss compares views of a sample with each other, and a microbatch of a
/// rank would hold but some of them. `last_batch`: the samples of an epoch's last batch where it is
/// a smaller one, else 0.
void check_views(const train::Task& task, const BatchArithmetic& batches, std::int64_t last_batch);

/// Throws ConfigError if a microbatch of a rank would hold fewer samples than an algorithm needs
/// (AlgorithmTraits::least_samples). `last_batch` is that of check_views().
void check_least_samples(std::span<const std::unique_ptr<train::Algorithm>> algorithms,
                         const BatchArithmetic& batches, std::int64_t last_batch);

/// What `train` would refuse of a recipe as it was written before it opens images, beyond what its
/// schema says and apart from what hangs on ranks or the device, a message each. Builds the
/// parts; models have no memory meanwhile.
std::vector<std::string> problems_without_data(const config::Loaded<Recipe>& loaded,
                                               const Registries& registries);

/// The same of each phase, whose name stands before its messages.
std::vector<std::string> problems_without_data(std::span<const Phase> phases,
                                               const Registries& registries);

}  // namespace paceline::app
