#include "paceline/app/memory_estimate.h"

#include "paceline/app/assembly/assembly.h"
#include "paceline/app/assembly/data_assembly.h"
#include "paceline/app/assembly/model_assembly.h"
#include "paceline/app/assembly/surgery.h"
#include "paceline/app/memory_by_shape.h"
#include "paceline/base/error.h"
#include "paceline/checkpoint/snapshot.h"
#include "paceline/comm/fake/fake_communicator.h"
#include "paceline/nn/init.h"
#include "paceline/tensor/autocast.h"
#include "paceline/tensor/memory_count.h"
#include "paceline/train/run_state.h"
#include "paceline/train/shaped_task.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <optional>

namespace paceline::app {
namespace {

constexpr std::array kStrategies{ParallelStrategy::kNone,  ParallelStrategy::kDdp,
                                 ParallelStrategy::kZero1, ParallelStrategy::kZero2,
                                 ParallelStrategy::kFsdp,  ParallelStrategy::kHsdp};

// BatchNorm wants more than one value per channel.
constexpr std::int64_t kFewImages = 2;
constexpr std::int64_t kMoreImages = 4;

// Of data that need not be there: how long an epoch is takes no memory.
constexpr std::int64_t kAnyEpoch = 1'000'000;

/// A model of zeros under its strategy, as rank 0 of a world without peers has it.
struct Prepared {
  std::unique_ptr<comm::Communicator> communicator;
  train::TrainState state;
  std::unique_ptr<train::Engine> engine;
};

Prepared prepare(const Recipe& recipe, const Registries& registries, int world_size,
                 int ranks_per_node) {
  Prepared made;
  made.communicator = comm::make_fake_communicator(0, world_size);
  made.state.task = make_task(recipe, registries);
  const auto plan = registries.optimizers.build(recipe.optimizer);
  made.state.strategy = make_strategy(recipe, *made.communicator, ranks_per_node);
  const auto zeros = [](const nn::NamedTensor& parameter) { nn::constant(parameter.tensor, 0.0); };
  made.engine = make_engine_of_algorithms(recipe, registries);
  const std::atomic<int> no_signal{0};
  const train::RunContext run{*made.communicator, {}, recipe.run.seed, {}, no_signal};
  lay_out(made.state, *made.engine, run, group_rules(*plan, made.state.task->network()), zeros);
  add_training_state(made.state, *made.engine, run, *plan);
  return made;
}

train::Batch blank_batch(const Recipe& recipe, std::span<const data::FieldSpec> fields,
                         std::int64_t samples) {
  std::vector<data::HostField> blank;
  for (const data::FieldSpec& field : fields) {
    const std::size_t bytes = static_cast<std::size_t>(samples) * data::sample_bytes(field);
    const std::shared_ptr<std::byte[]> memory(new std::byte[bytes]());
    blank.push_back({field, {memory, memory.get()}});
  }
  data::HostBatch host;
  host.fields = std::move(blank);
  host.count = samples;
  host.global_count = samples;
  return train::with_floats_as(train::wrap(std::make_unique<data::HostBatch>(std::move(host))),
                               train::storage_dtype(recipe.train.precision));
}

/// The most that forward and backward add while they last.
std::int64_t peak_of_pass(train::TrainState& state, const Recipe& recipe,
                          std::span<const data::FieldSpec> fields, std::int64_t images) {
  const train::Batch batch = blank_batch(recipe, fields, images);
  const std::int64_t before = tensor::tensor_memory().current;
  tensor::restart_peak();
  state.strategy->begin_microbatch(true, true);
  {
    const tensor::AutocastGuard autocast(at::kCPU, autocast_dtype(recipe.train.precision));
    state.outputs = state.task->forward(batch, {});
    state.loss = state.task->loss(state.outputs, batch);
  }
  state.strategy->backward(state.loss, 1.0);
  state.strategy->finish_gradients();
  state.outputs = {};
  state.loss.reset();
  return tensor::tensor_memory().peak - before;
}

/// Whether weights are gathered in a type of their own, so that autocast makes no copies of them.
bool gathers_casts(const Recipe& recipe) {
  const ParallelStrategy strategy = recipe.parallel.strategy;
  if (strategy == ParallelStrategy::kAuto || strategy == ParallelStrategy::kNone ||
      strategy == ParallelStrategy::kDdp)
    return false;
  return recipe.parallel.fsdp.param_dtype ||
         (gathers_blocks(strategy) && autocast_dtype(recipe.train.precision));
}

/// With what was done to the network that it starts from.
Recipe with_surgery(const Recipe& recipe, const Registries& registries) {
  Recipe changed = recipe;
  take_surgery_of_weights(registries, changed);
  return changed;
}

Recipe with_strategy(const Recipe& recipe, ParallelStrategy strategy) {
  Recipe changed = recipe;
  changed.parallel.strategy = strategy;
  if (strategy != ParallelStrategy::kHsdp) changed.parallel.fsdp.shard_group_size.reset();
  return changed;
}

std::uint64_t input_bytes(const Recipe& recipe, const BatchArithmetic& batches,
                          std::span<const data::FieldSpec> fields) {
  const auto samples = static_cast<std::uint64_t>(batches.samples_per_rank());
  const auto held = static_cast<std::uint64_t>(recipe.data.prefetch_batches + 1);
  const auto dtype = train::storage_dtype(recipe.train.precision);
  std::uint64_t bytes = 0;
  for (const data::FieldSpec& field : fields) {
    if (field.sizes.empty()) continue;  // labels
    bytes += 2 * held * samples * data::sample_bytes(field);
    const bool is_as_stored = (field.type == data::FieldType::kFloat32 && dtype == at::kFloat) ||
                              (field.type == data::FieldType::kFloat64 && dtype == at::kDouble);
    if (!data::is_integer(field.type) && !is_as_stored)
      bytes += samples * data::sample_bytes(field) / data::bytes_of(field.type) *
               c10::elementSize(dtype);
  }
  return bytes;
}

/// Of the fields of a rank's share of a step's batch, as the network sees them.
train::FieldBytes batch_bytes(const Recipe& recipe, const BatchArithmetic& batches,
                              std::span<const data::FieldSpec> fields) {
  const auto samples = static_cast<std::uint64_t>(batches.samples_per_rank());
  const auto dtype = train::storage_dtype(recipe.train.precision);
  train::FieldBytes bytes;
  for (const data::FieldSpec& field : fields) {
    bytes[field.name] = samples * data::sample_bytes(field);
    if (field.type == data::FieldType::kFloat32)
      bytes[field.name] = bytes[field.name] / sizeof(float) * c10::elementSize(dtype);
  }
  return bytes;
}

/// Groups of ranks that each hold the whole state count alone: the others hold the same.
int ranks_that_share(const Recipe& recipe, const MemoryQuestion& question) {
  switch (recipe.parallel.strategy) {
    case ParallelStrategy::kNone:
      return 1;
    case ParallelStrategy::kHsdp:
      return recipe.parallel.fsdp.shard_group_size.value_or(question.ranks_per_node);
    default:
      return question.world_size;
  }
}

MemoryEstimate estimate(const Recipe& recipe, const Registries& registries,
                        const MemoryQuestion& question, const BytesBySamples& activations) {
  const int sharing = ranks_that_share(recipe, question);
  if (question.world_size % sharing != 0) {
    throw base::ConfigError(
        fmt::format("parallel.fsdp.shard_group_size: {} does not divide {} ranks", sharing,
                    question.world_size));
  }
  const bool is_alone = recipe.parallel.strategy == ParallelStrategy::kNone;
  const BatchArithmetic batches =
      batch_arithmetic(recipe, question.train_samples, is_alone ? 1 : question.world_size);
  const Prepared made = prepare(recipe, registries, sharing, sharing);
  MemoryEstimate result = state_memory(recipe, made.state, *made.engine, batches, question.fields);
  result.strategy = recipe.parallel.strategy;
  result.activations = activations(batches.microbatch());
  return result;
}

/// measure_activations() of a recipe with_surgery().
ActivationBytes measure(const Recipe& recipe, const Registries& registries,
                        std::span<const data::FieldSpec> fields) {
  tensor::count_tensor_memory();
  // On one rank these hold nothing for a while: what comes and goes is autograd's.
  Recipe alone = with_strategy(
      recipe, gathers_casts(recipe) ? recipe.parallel.strategy : ParallelStrategy::kDdp);
  if (alone.parallel.strategy == ParallelStrategy::kHsdp) alone.parallel.fsdp.shard_group_size = 1;
  Prepared made = prepare(alone, registries, 1, 1);
  made.state.task->set_training(true);
  const std::int64_t num_views = made.state.task->num_views();
  const std::int64_t few_images = kFewImages * num_views;
  const std::int64_t more_images = kMoreImages * num_views;
  const auto few = static_cast<double>(peak_of_pass(made.state, alone, fields, few_images));
  const auto more = static_cast<double>(peak_of_pass(made.state, alone, fields, more_images));
  ActivationBytes bytes;
  bytes.per_image = (more - few) / static_cast<double>(more_images - few_images);
  bytes.fixed = few - bytes.per_image * static_cast<double>(few_images);
  return bytes;
}

/// activations_by_samples() of a recipe with_surgery().
BytesBySamples activations_of(const Recipe& recipe, const Registries& registries,
                              const MemoryQuestion& question) {
  const std::shared_ptr<train::Task> task = make_task(recipe, registries);
  if (const auto* shaped = dynamic_cast<const train::ShapedTask*>(task.get())) {
    nn::PassOptions options = pass_options(recipe, /*samples=*/0, question.is_on_gpu);
    options.casts_weights = !gathers_casts(recipe);
    return [task, shaped, options](std::int64_t samples) mutable {
      options.samples = samples;
      return static_cast<std::uint64_t>(shaped->pass_bytes(options));
    };
  }
  const ActivationBytes measured = measure(recipe, registries, question.fields);
  return [measured](std::int64_t samples) { return measured.of(samples); };
}

}  // namespace

std::uint64_t ActivationBytes::of(std::int64_t images) const {
  return static_cast<std::uint64_t>(
      std::llround(std::max(0.0, fixed + per_image * static_cast<double>(images))));
}

MemoryEstimate state_memory(const Recipe& recipe, const train::TrainState& state,
                            const train::Engine& engine, const BatchArithmetic& batches,
                            std::span<const data::FieldSpec> fields) {
  const parallel::StrategyMemory memory = state.strategy->memory(batches.grad_accum_steps);
  MemoryEstimate result{.strategy = recipe.parallel.strategy, .batches = batches};
  result.parameters = memory.parameters;
  result.gradients = memory.gradients;
  const auto add_state = [&](const auto& kinds) {
    for (const auto& kind : kinds) {
      for (const at::Tensor& tensor : kind.tensors)
        result.optimizer += tensor.defined() ? tensor.nbytes() : 0;
    }
  };
  add_state(state.optimizer->state());
  add_state(state.optimizer->parameter_state());
  result.optimizer += state.optimizer->scratch_bytes();
  for (const tensor::StateShard& shard : engine.tensors(state))
    result.algorithms += shard.data.nbytes();
  result.algorithms += engine.copied_bytes(state, batch_bytes(recipe, batches, fields));
  result.transient = memory.transient;
  if (recipe.checkpoint.async && recipe.checkpoint.every)
    result.transient += checkpoint::Snapshot::size_bytes(train::state_shards(state, engine));
  result.input = input_bytes(recipe, batches, fields);
  return result;
}

ActivationBytes measure_activations(const Recipe& recipe, const Registries& registries,
                                    std::span<const data::FieldSpec> fields) {
  return measure(with_surgery(recipe, registries), registries, fields);
}

BytesBySamples activations_by_samples(const Recipe& recipe, const Registries& registries,
                                      const MemoryQuestion& question) {
  return activations_of(with_surgery(recipe, registries), registries, question);
}

MemoryQuestion ask_about(const Recipe& recipe, const Registries& registries, int world_size,
                         int ranks_per_node) {
  const auto task = make_task(recipe, registries);
  if (const auto* shaped = dynamic_cast<const train::ShapedTask*>(task.get()))
    return {world_size, ranks_per_node, shaped->sample_fields(), kAnyEpoch};
  const DataPart part =
      open_data(recipe, registries, data::Split::kTrain, /*interruption=*/nullptr);
  return {world_size, ranks_per_node, part.maker->fields(), part.dataset->size()};
}

MemoryEstimate estimate_memory(const Recipe& recipe, const Registries& registries,
                               const MemoryQuestion& question) {
  Recipe asked = with_surgery(recipe, registries);
  if (asked.parallel.strategy == ParallelStrategy::kAuto) {
    asked.parallel.strategy =
        question.world_size > 1 ? ParallelStrategy::kDdp : ParallelStrategy::kNone;
  }
  return estimate(asked, registries, question, activations_of(asked, registries, question));
}

std::vector<MemoryEstimate> estimate_strategies(const Recipe& recipe, const Registries& registries,
                                                const MemoryQuestion& question) {
  const Recipe changed = with_surgery(recipe, registries);
  std::array<BytesBySamples, 2> found;  // without casts that are gathered, with
  std::vector<MemoryEstimate> estimates;
  for (const ParallelStrategy strategy : kStrategies) {
    const Recipe asked = with_strategy(changed, strategy);
    BytesBySamples& activations = found[gathers_casts(asked) ? 1 : 0];
    if (!activations) activations = activations_of(asked, registries, question);
    estimates.push_back(estimate(asked, registries, question, activations));
  }
  return estimates;
}

}  // namespace paceline::app
