#include "paceline/app/recipe/batch_arithmetic.h"

#include "paceline/base/error.h"
#include "paceline/data/loader/sample_order.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace paceline::app {
namespace {

constexpr std::int64_t kDefaultGlobalBatchSize = 256;

/// Steps of the first duration that is counted in steps; 0 when only the wall clock ends the run.
std::int64_t total_steps(const config::DurationList& durations,
                         const config::StepLengths& lengths) {
  std::int64_t steps = std::numeric_limits<std::int64_t>::max();
  for (const config::Duration& duration : durations.any_of) {
    if (duration.unit == config::TimeUnit::kSecond) continue;
    if (duration.unit == config::TimeUnit::kFraction) {
      throw base::ConfigError(
          fmt::format("train.duration: '{}' is a share of the run, but it says how long the run "
                      "is; write epochs "
                      "(90ep), steps (5000ba), samples (1.2e6sp) or wall-clock time (2h30m)",
                      duration.to_string()));
    }
    steps = std::min(steps, to_steps(duration, lengths));
  }
  return steps == std::numeric_limits<std::int64_t>::max() ? 0 : steps;
}

}  // namespace

std::int64_t global_batch_size_of(const DataSection& data, int world_size) {
  return data.batch_size_per_rank ? *data.batch_size_per_rank * world_size
                                  : data.global_batch_size.value_or(kDefaultGlobalBatchSize);
}

BaseLr base_lr_of(double optimizer_lr, const train::TrainerConfig& config,
                  std::int64_t global_batch_size) {
  if (config.lr_scaling == train::LrScaling::kNone)
    return {optimizer_lr, fmt::format("{:g}", optimizer_lr)};
  const bool is_root = config.lr_scaling == train::LrScaling::kSqrt;
  const double ratio =
      static_cast<double>(global_batch_size) / static_cast<double>(config.lr_base_batch_size);
  const double lr = optimizer_lr * (is_root ? std::sqrt(ratio) : ratio);
  const std::string batches = fmt::format("{} / {}", global_batch_size, config.lr_base_batch_size);
  return {lr, fmt::format("{:g} = {:g} x {} (train.lr_scaling)", lr, optimizer_lr,
                          is_root ? fmt::format("sqrt({})", batches) : batches)};
}

BatchArithmetic batch_arithmetic(const Recipe& recipe, std::int64_t train_samples, int world_size) {
  BatchArithmetic result;
  result.world_size = world_size;
  result.grad_accum_steps = recipe.train.grad_accum_steps;
  result.global_batch_size = global_batch_size_of(recipe.data, world_size);
  if (result.global_batch_size < world_size) {
    throw base::ConfigError(
        fmt::format("data.global_batch_size: {} samples cannot be shared by {} ranks; give at "
                    "least one per rank",
                    result.global_batch_size, world_size));
  }
  const data::BatchPlan plan(train_samples, result.global_batch_size, recipe.data.drop_last, 0,
                             world_size);
  result.lengths.steps_per_epoch = plan.batches_per_epoch();
  result.lengths.samples_per_step = result.global_batch_size;
  result.lengths.total_steps = total_steps(recipe.train.duration, result.lengths);
  return result;
}

std::int64_t BatchArithmetic::samples_per_rank() const {
  return (global_batch_size + world_size - 1) / world_size;
}

std::int64_t BatchArithmetic::microbatch() const {
  return (samples_per_rank() + grad_accum_steps - 1) / grad_accum_steps;
}

std::string BatchArithmetic::text(std::string_view samples) const {
  std::string text = fmt::format("{} {} a step", global_batch_size, samples);
  if (world_size > 1 || grad_accum_steps > 1) {
    text += fmt::format(" = {} ranks x {}", world_size, samples_per_rank());
    if (global_batch_size % world_size != 0) text += " (fewer on the last ranks)";
    if (grad_accum_steps > 1) {
      text += fmt::format(", in {} microbatches of up to {}", grad_accum_steps, microbatch());
    }
  }
  text += fmt::format("; {} steps an epoch", lengths.steps_per_epoch);
  if (lengths.total_steps > 0) text += fmt::format(", {} in all", lengths.total_steps);
  return text;
}

}  // namespace paceline::app
