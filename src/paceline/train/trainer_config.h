#pragma once

#include "paceline/config/schema.h"
#include "paceline/nn/activation_checkpoint.h"
#include "paceline/optim/grad_scaler.h"
#include "paceline/parallel/adaptive_clipping.h"
#include "paceline/train/precision.h"
#include "paceline/train/watch/condition.h"

#include <array>
#include <cstdint>
#include <optional>
#include <string>

namespace paceline::train {

/// The section `train.activation_checkpointing` of a recipe.
struct ActivationCheckpointing {
  int every = 1;
  nn::KeptResults keep = nn::KeptResults::kNone;
};

/// What is done to a step besides running its operations one by one.
enum class Compile { kNone, kGraph };

/// How the learning rate follows the global batch size: as it, or as its root.
/// Papers: Goyal et al., "Accurate, large minibatch SGD", 2017; Krizhevsky, "One weird trick for
/// parallelizing convolutional neural networks", 2014.
enum class LrScaling { kNone, kLinear, kSqrt };

/// The `train` section of a recipe.
struct TrainerConfig {
  config::DurationList duration{{{90, config::TimeUnit::kEpoch}}};
  std::optional<config::Duration> min_duration;
  Precision precision = Precision::kFloat32;
  optim::GradScalerConfig grad_scaler;
  bool channels_last = true;
  Compile compile = Compile::kNone;
  int grad_accum_steps = 1;
  LrScaling lr_scaling = LrScaling::kNone;
  std::int64_t lr_base_batch_size = 256;
  std::optional<ActivationCheckpointing> activation_checkpointing;
  std::optional<double> grad_clip_norm;
  std::optional<double> grad_clip_value;
  std::optional<parallel::AdaptiveClipping> grad_clip_adaptive;
  std::optional<config::Duration> eval_every{{1, config::TimeUnit::kEpoch}};
  std::optional<std::int64_t> eval_batches;
  std::optional<std::string> stop_when;
  std::int64_t log_grad_norm = 0;
  bool log_accuracy = true;
};

}  // namespace paceline::train

template <>
struct paceline::config::EnumNames<paceline::nn::KeptResults> {
  static constexpr std::array names{EnumName{paceline::nn::KeptResults::kNone, "none"},
                                    EnumName{paceline::nn::KeptResults::kMatmuls, "matmuls"}};
};

template <>
struct paceline::config::EnumNames<paceline::train::Compile> {
  static constexpr std::array names{EnumName{paceline::train::Compile::kNone, "none"},
                                    EnumName{paceline::train::Compile::kGraph, "graph"}};
};

template <>
struct paceline::config::EnumNames<paceline::train::LrScaling> {
  using Scaling = paceline::train::LrScaling;
  static constexpr std::array names{EnumName{Scaling::kNone, "none"},
                                    EnumName{Scaling::kLinear, "linear"},
                                    EnumName{Scaling::kSqrt, "sqrt"}};
};

template <>
struct paceline::config::Schema<paceline::train::ActivationCheckpointing> {
  using Config = paceline::train::ActivationCheckpointing;
  static constexpr std::string_view name = "activation_checkpointing";
  static constexpr std::string_view summary =
      "Keep less of the forward pass and compute it once more in backward.";
  static constexpr auto fields = std::tuple{
      field(&Config::every, "every",
            "Of so many blocks one, beginning with the first, is computed again.", AtLeast{1},
            AtMost{1000, "no model has more blocks"}, MayChangeOnResume{}),
      field(&Config::keep, "keep",
            "What such a block keeps besides its input: none, or matmuls (the results of linear "
            "layers, convolutions and, on the CPU, attention without dropout, which cost the most "
            "time; fused blocks then compute operation by operation).",
            MayChangeOnResume{})};
};

template <>
struct paceline::config::Schema<paceline::train::TrainerConfig> {
  using Config = paceline::train::TrainerConfig;
  static constexpr std::string_view name = "train";
  static constexpr std::string_view summary =
      "How long, how precisely and in which pieces to train.";
  static constexpr auto fields = std::tuple{
      field(&Config::duration, "duration",
            "Length of the run; of a list, whichever comes first: 90ep, 5000ba, 1.2e6sp, 2h30m.",
            MayChangeOnResume{}),
      field(&Config::min_duration, "min_duration",
            "No condition and no early stop ends the run before this.", MayChangeOnResume{}),
      field(&Config::precision, "precision",
            "What the network computes in: fp32, fp64, bf16 or fp16 (float32 weights, and autocast "
            "as PyTorch's), or auto: bf16 where the machine has units for it, else fp16 on a GPU "
            "and fp32 on "
            "a CPU; a small model may be faster in fp32.",
            MayChangeOnResume{}),
      field(&Config::grad_scaler, "grad_scaler", "The factor on the loss of precision fp16.",
            MayChangeOnResume{}),
      field(&Config::channels_last, "channels_last",
            "Images and convolution weights in NHWC order in memory."),
      field(&Config::compile, "compile",
            "graph: record the kernels of a step's gradients once and replay them, which spares a "
            "GPU the launching; where that cannot be done the log says why and the run goes on "
            "without. none: launch each kernel.",
            MayChangeOnResume{}),
      field(&Config::grad_accum_steps, "grad_accum_steps",
            "Microbatches per rank and optimizer step.", AtLeast{1},
            AtMost{1'048'576, "no step takes more microbatches"}, MayChangeOnResume{}),
      field(&Config::lr_scaling, "lr_scaling",
            "Multiply optimizer.lr by data.global_batch_size / lr_base_batch_size (linear), or by "
            "its root (sqrt, for Adam and its kin); none: take it as it is.",
            MayChangeOnResume{}),
      field(&Config::lr_base_batch_size, "lr_base_batch_size",
            "The global batch size that optimizer.lr is meant for.", AtLeast{1},
            AtMost{16'777'216, "no step takes more samples"}, MayChangeOnResume{}),
      field(&Config::activation_checkpointing, "activation_checkpointing",
            "Compute blocks once more in backward instead of keeping what lies inside them: less "
            "memory, the same numbers, more time; null: keep everything.",
            MayChangeOnResume{}),
      field(&Config::grad_clip_norm, "grad_clip_norm",
            "Largest Euclidean norm of all gradients together.", MoreThan{0},
            AtMost{1e30, "float32 ends at 3e38"}, MayChangeOnResume{}),
      field(&Config::grad_clip_value, "grad_clip_value",
            "Largest magnitude of each element of the gradients.", MoreThan{0},
            AtMost{1e30, "float32 ends at 3e38"}, MayChangeOnResume{}),
      field(&Config::grad_clip_adaptive, "grad_clip_adaptive",
            "Clip the gradients of each output unit by the norm of its weights; null: do not.",
            MayChangeOnResume{}),
      field(
          &Config::eval_every, "eval_every",
          "How often to evaluate; also at the end. null: never, and no validation data are needed.",
          MayChangeOnResume{}),
      field(&Config::eval_batches, "eval_batches",
            "Evaluate on at most so many global batches; null: on all samples.", AtLeast{1},
            AtMost{1'000'000'000'000, "no evaluation has more"}, MayChangeOnResume{}),
      field(&Config::stop_when, "stop_when",
            "Ends the run after the evaluation in which it holds, as in val/top1 >= 0.78.",
            MayChangeOnResume{}),
      field(&Config::log_grad_norm, "log_grad_norm",
            "Log the norm of the gradients every so many steps; 0: only where clipping needs it.",
            AtLeast{0}, AtMost{1'000'000'000'000, "no run has more steps"}, MayChangeOnResume{}),
      field(&Config::log_accuracy, "log_accuracy",
            "Measure metrics (top-1, top-5) of training batches too.", MayChangeOnResume{})};

  static void validate(const Config& value, Problems& problems) {
    if (value.precision != paceline::train::Precision::kFloat16 &&
        value.grad_scaler != paceline::optim::GradScalerConfig{})
      problems.add("grad_scaler", "only precision fp16 scales the loss");
    if (value.grad_clip_adaptive && (value.grad_clip_norm || value.grad_clip_value))
      problems.add("grad_clip_adaptive",
                   "clips as grad_clip_norm and grad_clip_value do, and only one of them is meant: "
                   "leave out the others");
    if (!value.stop_when) return;
    try {
      paceline::train::Condition::parse(*value.stop_when);
    } catch (const paceline::base::ConfigError& error) {
      problems.add("stop_when", error.what());
    }
  }
};
