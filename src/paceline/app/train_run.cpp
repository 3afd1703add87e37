#include "paceline/app/train_run.h"

#include "paceline/app/lr_find_run.h"
#include "paceline/app/phase_run.h"
#include "paceline/app/phased_run.h"
#include "paceline/app/recipe/builtin.h"
#include "paceline/app/recipe/phases.h"
#include "paceline/base/error.h"
#include "paceline/base/file.h"
#include "paceline/tensor/memory_count.h"

#include <algorithm>
#include <iterator>

namespace paceline::app {
namespace {

/// The overrides that make a run short: every kind of work once, on the real data.
std::vector<std::string> fast_dev_overrides(int steps) {
  return {fmt::format("++checkpoint.every={}ba", steps), "++train.min_duration=null",
          "++train.eval_batches=" + std::to_string(steps), "++checkpoint.dir=null"};
}

config::Overrides overrides_of(const TrainRequest& request) {
  config::Overrides overrides(request.overrides, request.overrides_on_top);
  if (request.is_fast_dev_run) {
    std::ranges::move(fast_dev_overrides(request.fast_dev_steps),
                      std::back_inserter(overrides.on_top));
  }
  return overrides;
}

}  // namespace

int run_training(const TrainRequest& request, const SessionContext& context) {
  tensor::count_tensor_memory();
  if (request.lr_find) return run_training(with_found_lr(request, context), context);
  const int world_size = context.communicator.world_size();
  const config::BindContext bind_context = context.registries.context(world_size);
  PhasedRecipe recipe =
      request.only_phase
          ? load_one_phase(request.recipe, overrides_of(request), *request.only_phase, bind_context)
          : load_phases(request.recipe, overrides_of(request), bind_context);
  std::optional<base::TempDir> scratch;
  if (request.is_fast_dev_run && context.communicator.rank() == 0)
    scratch.emplace("paceline-dev-run");
  const auto directory = scratch ? std::optional(scratch->path()) : request.run_directory;
  if (recipe.has_phases()) return run_phases(recipe, directory, request, context);

  if (request.start_phase)
    throw base::ConfigError(fmt::format("--start-phase {}: {} has no phases: leave it out",
                                        *request.start_phase, request.recipe.string()));
  PhaseJob job{
      .loaded = load_recipe(std::move(recipe.phases.front().recipe), context.registries, world_size,
                            context.device.place().type(), &context.interruption),
      .resume = request.resume,
      .stands_on_phases = request.only_phase.has_value()};
  job.place = place_of(job.loaded.recipe, directory, request.is_fast_dev_run);
  return run_phase(std::move(job), request, context);
}

}  // namespace paceline::app
