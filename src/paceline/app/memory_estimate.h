#pragma once

#include "paceline/app/recipe/batch_arithmetic.h"
#include "paceline/app/recipe/builtin.h"
#include "paceline/app/recipe/recipe.h"
#include "paceline/data/dataset/field.h"
#include "paceline/train/engine.h"
#include "paceline/train/train_state.h"

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace paceline::app {

/// What a recipe's memory follows from besides the recipe.
struct MemoryQuestion {
  int world_size = 1;
  int ranks_per_node = 1;
  std::vector<data::FieldSpec> fields = {};  ///< of a training sample
  std::int64_t train_samples = 0;
  bool is_on_gpu = false;  ///< what a train::ShapedTask tells is of the run's own device
};

/// Bytes of tensors that rank 0 needs in training; no other rank needs more.
struct MemoryEstimate {
  ParallelStrategy strategy = ParallelStrategy::kNone;
  BatchArithmetic batches = {};  ///< on one rank under `none`
  std::uint64_t parameters = 0;  ///< and buffers
  std::uint64_t gradients = 0;
  std::uint64_t optimizer = 0;
  std::uint64_t algorithms = 0;   ///< what they own and copy
  std::uint64_t activations = 0;  ///< of a microbatch, with what autograd makes in backward
  std::uint64_t transient = 0;    ///< gathered units, gradients on their way, checkpoint snapshot
  std::uint64_t input = 0;        ///< batches that the loaders of both splits hold

  std::uint64_t total() const {
    return parameters + gradients + optimizer + algorithms + activations + transient + input;
  }
};

/// Bytes by the number of images at once: linear.
struct ActivationBytes {
  double fixed = 0;
  double per_image = 0;
  std::uint64_t of(std::int64_t images) const;
};

/// The most that forward and backward of a microbatch add to the state, gradients of one block
/// included: measured on the recipe's model with two and with four images, on one rank without
/// peers, and extended linearly. Counts all CPU tensors of the process, so nothing else may make
/// tensors meanwhile. Throws what training throws, and what LibTorch throws out of memory.
ActivationBytes measure_activations(const Recipe& recipe, const Registries& registries,
                                    std::span<const data::FieldSpec> fields);

/// Bytes that forward and backward of a microbatch of so many samples add to the state.
using BytesBySamples = std::function<std::uint64_t(std::int64_t samples)>;

/// What a train::ShapedTask tells of the recipe's network, else what measure_activations() finds.
BytesBySamples activations_by_samples(const Recipe& recipe, const Registries& registries,
                                      const MemoryQuestion& question);

/// What the recipe needs under its own strategy. Its state is laid out, without values, by the
/// strategy itself among ranks that are not there, so that it is exact. Throws ConfigError.
MemoryEstimate estimate_memory(const Recipe& recipe, const Registries& registries,
                               const MemoryQuestion& question);

/// The same under every strategy, `none` on one rank.
std::vector<MemoryEstimate> estimate_strategies(const Recipe& recipe, const Registries& registries,
                                                const MemoryQuestion& question);

/// What a run needs besides activations, by what its strategy, optimizer and algorithms have made.
MemoryEstimate state_memory(const Recipe& recipe, const train::TrainState& state,
                            const train::Engine& engine, const BatchArithmetic& batches,
                            std::span<const data::FieldSpec> fields);

/// Opens the recipe's training data to learn what its size and its images are; not for a
/// train::ShapedTask, which tells its samples by itself.
MemoryQuestion ask_about(const Recipe& recipe, const Registries& registries, int world_size,
                         int ranks_per_node);

}  // namespace paceline::app
