#pragma once

#include "paceline/tensor/fwd.h"

namespace paceline::nn {

/// What a checkpoint keeps besides a unit's input.
enum class KeptResults {
  kNone,  ///< nothing: all of the unit is computed twice
  /// Those of linear layers of matrices, of convolutions and, on the CPU, of attention
  /// (nn/matmul.h): only what is cheap, such as norms, activations and dropout, is computed twice.
  kMatmuls,
};

/// Makes every `every`-th of the units below `module`, from the first on, keep only its input in
/// training: backward computes the unit once more. Returns how many do. To be called before a
/// strategy wraps the units, so that they recompute while their weights are gathered.
///
/// Outputs and gradients are the same bits as without (a fused ViT block, which cannot keep
/// matmuls, gives way to its plain twin): dropout and drop path draw by key, running statistics
/// move in the first forward only, autocast is as it was. The backward pass must be one that
/// accumulates into .grad, as Tensor::backward() does; torch::autograd::grad() throws
/// InternalError. A parameter's hooks run once per unit that uses it. Throws ConfigError if
/// `module` has no units. Paper: Chen et al., "Training deep nets with sublinear memory cost",
/// 2016.
int set_activation_checkpointing(torch::nn::Module& module, int every,
                                 KeptResults kept = KeptResults::kNone);

}  // namespace paceline::nn
