#include "paceline/cli/volume_draws.h"

#include "paceline/base/error.h"
#include "paceline/train/tasks/volume/ct_diffusion_config.h"

#include <fmt/format.h>

namespace paceline::cli {

void add_options(CLI::App& app, VolumeDraws& draws) {
  constexpr std::int64_t kMostSamples = 1024;
  constexpr std::int64_t kMostSteps = 1'000'000;
  app.add_option("--samples", draws.samples, "Volumes that are drawn of each patient")
      ->check(CLI::Range(std::int64_t{1}, kMostSamples));
  app.add_option("--steps", draws.steps, "Diffusion steps of each stage of a volume")
      ->check(CLI::Range(std::int64_t{1}, kMostSteps));
}

void apply(const VolumeDraws& draws, app::Recipe& recipe) {
  if (!draws.samples && !draws.steps) return;
  if (recipe.task.name != config::Schema<train::CtDiffusionConfig>::name)
    throw base::ConfigError(fmt::format(
        "{}: is for networks that draw volumes (task ct_diffusion), and the run's task is {}: "
        "leave it out",
        draws.samples ? "--samples" : "--steps", recipe.task.name));
  auto changed = recipe.task.as<train::CtDiffusionConfig>();
  changed.samples = draws.samples.value_or(changed.samples);
  changed.sampling_steps = draws.steps.value_or(changed.sampling_steps);
  config::Problems problems;
  problems.enter("task", nullptr);
  config::Schema<train::CtDiffusionConfig>::validate(changed, problems);
  problems.throw_if_any();
  recipe.task = config::Component::of(recipe.task.name, changed);
}

}  // namespace paceline::cli
