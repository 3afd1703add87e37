#include "paceline/app/batch_find_run.h"

#include "paceline/app/assembly/first_weights.h"
#include "paceline/app/assembly/model_assembly.h"
#include "paceline/app/batch_find/batch_keys.h"
#include "paceline/app/phase_run.h"
#include "paceline/app/recipe/builtin.h"
#include "paceline/app/recipe/phases.h"
#include "paceline/app/step_probe.h"
#include "paceline/base/error.h"
#include "paceline/base/log.h"
#include "paceline/base/text.h"
#include "paceline/comm/agreement.h"
#include "paceline/tensor/device_pool.h"

#include <algorithm>
#include <chrono>
#include <limits>

namespace paceline::app {
namespace {

/// A rank that runs out of memory at once waits for those that take their steps.
constexpr std::chrono::hours kLongestTry{24};

std::uint64_t limit_of(const std::optional<std::uint64_t>& wanted, const tensor::Device& device) {
  if (!device.is_asynchronous()) {
    if (wanted) return *wanted;
    throw base::ConfigError(
        "batch-find: on the CPU nothing refuses memory before the system ends the process: say "
        "how much of it a rank's tensors may take, such as --memory-limit 8GiB");
  }
  const std::uint64_t most =
      device.memory().allocated_bytes + tensor::obtainable_device_bytes(device.place());
  return std::min(most, wanted.value_or(most));
}

/// Samples of an epoch for each rank.
std::int64_t most_samples_of_rank(const Recipe& recipe, const SessionContext& context) {
  DataPart part = open_data(recipe, context.registries, data::Split::kTrain, &context.interruption);
  const std::int64_t samples = choose_sampler(part, recipe, context.registries);
  const int world_size = context.communicator.world_size();
  // Throws where the recipe's own batch cannot be shared.
  batch_arithmetic(recipe, samples, world_size);
  if (samples >= world_size) return samples / world_size;
  throw base::ConfigError(
      fmt::format("batch-find: the training data have {} samples, fewer than the {} ranks, which "
                  "need one each: start fewer ranks, or take more data (data.subset, data.path)",
                  samples, world_size));
}

[[noreturn]] void refuse_too_little(const Recipe& recipe, const SessionContext& context,
                                    const BatchSearch& search, std::uint64_t limit_bytes) {
  const auto least = static_cast<std::uint64_t>(search.tries().back().bytes);
  const auto excess =
      comm::max_over_ranks(context.communicator, static_cast<std::int64_t>(least) -
                                                     static_cast<std::int64_t>(limit_bytes));
  std::vector<std::string> cures;
  if (!recipe.train.activation_checkpointing)
    cures.emplace_back("train.activation_checkpointing={every: 1}");
  if (!gathers_blocks(recipe.parallel.strategy))
    cures.emplace_back("parallel.strategy=fsdp on several ranks");
  if (recipe.train.precision == train::Precision::kFloat32)
    cures.emplace_back("train.precision=bf16");
  cures.emplace_back("smaller images (data.image_size)");
  cures.emplace_back("a smaller model");
  throw base::ConfigError(fmt::format(
      "batch-find: a batch of one sample a rank does not fit: it takes at least {} more than the "
      "rank's tensors may ({} on rank {}). What needs less: {}. `paceline info memory` tells what "
      "takes it",
      base::format_bytes(static_cast<std::uint64_t>(std::max<std::int64_t>(excess, 1))),
      base::format_bytes(limit_bytes), context.communicator.rank(), base::join(cures, ", ")));
}

/// The same on all ranks: as many as the one with the least room needs.
std::optional<int> microbatches_of_own(std::int64_t share, const BatchSearch& search,
                                       const StepProbe& probe, std::uint64_t limit_bytes,
                                       comm::Communicator& communicator) {
  const auto found = std::ranges::find(search.tries(), search.found(), &BatchTry::samples);
  const auto fits = [&](std::int64_t microbatch) {
    // Where memory ends among the first sizes there is no line.
    const double held = search.predict(microbatch).value_or(found->bytes) +
                        probe.input_bytes_per_sample() * static_cast<double>(share - microbatch);
    return held <= static_cast<double>(limit_bytes);
  };
  constexpr std::int64_t kNone = std::numeric_limits<std::int64_t>::max();
  const auto own = fewest_microbatches(share, search.found(), fits);
  const std::int64_t most = comm::max_over_ranks(communicator, own ? std::int64_t{*own} : kNone);
  return most == kNone ? std::nullopt : std::optional(static_cast<int>(most));
}

void add_keys(const Recipe& recipe, BatchFindResult& result) {
  result.largest_keys = largest_batch_keys(recipe, result.samples_per_rank);
  result.lr_keys = lr_scaling_keys(recipe, result.own_global_batch, result.global_batch());
  if (result.microbatches_of_own)
    result.same_batch_keys = {
        fmt::format("train.grad_accum_steps={}", *result.microbatches_of_own)};
}

void tell(const BatchTry& made, const std::string& refusal, const SessionContext& context) {
  if (context.communicator.rank() != 0) return;
  base::log_info("batch-find: {} samples a rank: {} {}", made.samples,
                 base::format_bytes(static_cast<std::uint64_t>(made.bytes)),
                 refusal.empty() ? "fit" : "do not fit (" + refusal + ")");
}

/// A try is over before a step would be recorded (StepProbe).
void warn_of_recording(const Recipe& recipe, const SessionContext& context) {
  if (recipe.train.compile != train::Compile::kGraph || context.communicator.rank() != 0) return;
  if (!context.device.make_graph()) return;  // the run records nothing either
  base::log_warning(
      "batch-find: with train.compile: graph the memory of a step's activations is held from its "
      "fourth step on, and evaluations and batches of another size need theirs besides; that is "
      "not measured: leave room for it by --memory-limit, or by a batch somewhat smaller");
}

/// Looks, with the recipe's weights found.
BatchFindResult find(const Recipe& recipe, std::uint64_t limit_bytes,
                     const SessionContext& context) {
  comm::Communicator& communicator = context.communicator;
  const std::int64_t most_samples = most_samples_of_rank(recipe, context);
  StepProbe probe(recipe, context, limit_bytes);
  BatchFindResult result{.world_size = communicator.world_size(), .limit_bytes = limit_bytes};
  const BatchSearch search = search_batch(
      communicator, static_cast<double>(limit_bytes), most_samples,
      [&](std::int64_t samples) { return probe.run(samples); },
      [&](const BatchTry& made, const std::string& refusal) {
        tell(made, refusal, context);
        result.verdicts.push_back(refusal.empty() ? "fits" : "does not fit: " + refusal);
      });
  if (search.found() == 0) refuse_too_little(recipe, context, search, limit_bytes);
  result.samples_per_rank = search.found();
  result.ends_with_data = search.ends_with_data();
  result.state_bytes = probe.state_bytes();
  result.tries = search.tries();
  result.own_global_batch = global_batch_size_of(recipe.data, result.world_size);
  const std::int64_t share = (result.own_global_batch + result.world_size - 1) / result.world_size;
  result.microbatches_of_own = microbatches_of_own(share, search, probe, limit_bytes, communicator);
  add_keys(recipe, result);
  return result;
}

}  // namespace

BatchFindResult find_batch(const TrainRequest& request, std::optional<std::uint64_t> limit_bytes,
                           const SessionContext& context) {
  comm::Communicator& communicator = context.communicator;
  const std::uint64_t limit = limit_of(limit_bytes, context.device);
  PhasedRecipe phases =
      load_single_phase(request, context.registries.context(communicator.world_size()),
                        "batch-find", "which may need unequal memory");
  LoadedRecipe loaded =
      load_recipe(std::move(phases.phases.front().recipe), context.registries,
                  communicator.world_size(), context.device.place().type(), &context.interruption);
  loaded.train_set.reset();  // every try opens its own
  communicator.set_timeout(kLongestTry);
  agree_on_recipe(loaded, communicator);
  Recipe recipe = loaded.recipe;
  warn_of_recording(recipe, context);
  find_first_weights(context.registries, communicator, context.files, context.interruption, recipe);
  return find(recipe, limit, context);
}

}  // namespace paceline::app
