#include "paceline/app/step_probe.h"

#include "paceline/app/memory_estimate.h"
#include "paceline/base/error.h"
#include "paceline/base/interruption.h"
#include "paceline/base/log.h"
#include "paceline/comm/fake/fake_communicator.h"
#include "paceline/data/loader/buffer_pool.h"
#include "paceline/tensor/device_pool.h"
#include "paceline/tensor/memory_count.h"
#include "paceline/tensor/torch.h"
#include "paceline/train/stop_rule.h"
#include "paceline/train/trainer.h"

#include <algorithm>
#include <limits>
#include <memory>
#include <new>
#include <optional>
#include <string_view>
#include <utility>

namespace paceline::app {
namespace {

constexpr double kSteps = 2;
constexpr std::uint64_t kNoLimit = std::numeric_limits<std::int64_t>::max();

/// Weights stay near where they are, whatever the recipe's schedule makes of so short a run.
class NearlyNoRate final : public optim::Schedule {
 public:
  std::string_view name() const override { return "batch_find"; }
  double factor(std::int64_t /*step*/) const override { return 1e-6; }
};

/// Of the recipe, what is tried.
Recipe recipe_of_try(Recipe recipe, std::int64_t samples) {
  recipe.data.global_batch_size.reset();
  recipe.data.batch_size_per_rank = samples;
  recipe.data.drop_last = true;  // no step of fewer samples, which some algorithms refuse
  recipe.data.progressive_resizing = {};
  recipe.data.pool = LoaderPool::kRank;
  recipe.train.grad_accum_steps = 1;
  recipe.train.stop_when.reset();
  recipe.train.min_duration.reset();
  if (recipe.train.eval_every) {
    recipe.train.eval_every = config::Duration{kSteps, config::TimeUnit::kBatch};
    recipe.train.eval_batches = 1;
  }
  recipe.callbacks.clear();
  recipe.model.pretrained.reset();
  recipe.model.pretrained_key.reset();
  recipe.model.pretrained_strict = false;
  return recipe;
}

/// Of a hybrid strategy one group: the others hold the same.
int ranks_that_share_state(const Recipe& recipe, const SessionContext& context) {
  const int world_size = context.communicator.world_size();
  if (recipe.parallel.strategy != ParallelStrategy::kHsdp) return world_size;
  const int sharing = recipe.parallel.fsdp.shard_group_size.value_or(context.ranks_per_node);
  if (world_size % sharing == 0) return sharing;
  throw base::ConfigError(fmt::format("parallel.fsdp.shard_group_size: {} does not divide {} ranks",
                                      sharing, world_size));
}

/// Whether the exception at hand says that memory ran out; any other is thrown again.
void require_out_of_memory() try { throw; } catch (const c10::Error& error) {
  const std::string_view text = error.what_without_backtrace();
  const bool is_refusal = dynamic_cast<const c10::OutOfMemoryError*>(&error) != nullptr ||
                          text.find("you tried to allocate") != std::string_view::npos;
  if (!is_refusal) throw;
} catch (const std::bad_alloc&) {
}

/// The CPU's allocator refuses more while this lives.
class CpuLimit {
 public:
  explicit CpuLimit(std::uint64_t bytes) { tighten(bytes, 0); }
  ~CpuLimit() { tensor::limit_tensor_memory(std::nullopt); }
  CpuLimit(const CpuLimit&) = delete;
  CpuLimit& operator=(const CpuLimit&) = delete;

  /// `beside`: taken by what is no tensor.
  static void tighten(std::uint64_t bytes, std::uint64_t beside) {
    tensor::limit_tensor_memory(static_cast<std::int64_t>(bytes > beside ? bytes - beside : 0));
  }
};

/// Batches that loaders hold, and the copy of the state that a checkpoint is written from.
std::uint64_t bytes_beside(const Session& session) {
  const MemoryEstimate memory = session.memory();
  return memory.input + memory.transient - session.state().strategy->memory(1).transient;
}

}  // namespace

StepProbe::StepProbe(const Recipe& recipe, const SessionContext& context, std::uint64_t limit_bytes)
    : recipe_(recipe),
      context_(context),
      limit_bytes_(limit_bytes),
      world_size_(ranks_that_share_state(recipe, context)) {
  tensor::count_tensor_memory();
}

void StepProbe::learn(const Session& session, std::int64_t samples) {
  const MemoryEstimate memory = session.memory();
  state_bytes_ = memory.parameters + memory.gradients + memory.optimizer + memory.algorithms;
  input_bytes_per_sample_ = static_cast<double>(memory.input) / static_cast<double>(samples);
  // Of the batches that loaders hold, a GPU has the one at hand and the next.
  if (context_.device.is_asynchronous())
    input_bytes_per_sample_ /= recipe_.data.prefetch_batches + 1;
  if (session.val_set() == nullptr) recipe_.train.eval_every.reset();
}

void StepProbe::take_steps(const Recipe& recipe, const SessionContext& alone) {
  SessionChanges changes;
  changes.duration = config::DurationList{{{kSteps, config::TimeUnit::kBatch}}};
  changes.schedule = std::make_unique<NearlyNoRate>();
  changes.batch_memory = data::allocate_host_memory;
  Session session(recipe, alone, std::move(changes));
  if (!alone.device.is_asynchronous()) {
    beside_ = bytes_beside(session);
    CpuLimit::tighten(limit_bytes_, beside_);
  }
  try {
    const train::FitResult end = session.trainer().fit();
    if (end.reason == train::FitResult::Reason::kSignal)
      throw base::Interrupted(end.signal, "finding a batch");
  } catch (const base::DivergedError&) {  // of drawn weights; the step took its memory all the same
  }
  learn(session, *recipe.data.batch_size_per_rank);
}

ProbeOutcome StepProbe::run(std::int64_t samples) {
  const auto communicator = comm::make_fake_communicator(0, world_size_);
  const SessionContext alone{context_.registries,     *communicator,        context_.files,
                             context_.interruption,   context_.num_threads, world_size_,
                             context_.cores_per_node, context_.device};
  const bool is_gpu = context_.device.is_asynchronous();
  const base::LogRedirection quiet([](base::LogLevel, std::string_view) {});
  const CpuLimit limit(is_gpu ? kNoLimit : limit_bytes_);
  tensor::restart_peak();
  if (is_gpu) tensor::restart_device_peak(context_.device.place());
  bool is_refused = false;
  beside_ = 0;
  try {
    take_steps(recipe_of_try(recipe_, samples), alone);
  } catch (...) {
    require_out_of_memory();
    is_refused = true;
  }
  const tensor::TensorMemory held = tensor::tensor_memory();
  const std::uint64_t bytes =
      is_gpu ? context_.device.memory().peak_allocated_bytes
             : beside_ + static_cast<std::uint64_t>(std::max(held.peak, held.refused));
  return {!is_refused && bytes <= limit_bytes_,
          static_cast<double>(is_refused ? std::max(bytes, limit_bytes_ + 1) : bytes)};
}

}  // namespace paceline::app
