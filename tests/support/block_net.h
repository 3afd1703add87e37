#pragma once

#include "paceline/nn/unit.h"
#include "support/small_net.h"

#include <memory>
#include <string>
#include <vector>

namespace paceline::test {

/// A residual pair of linear layers; the second may be tied to another block's.
class LinearBlock final : public nn::Unit {
 public:
  LinearBlock(std::int64_t width, double phase, at::ScalarType dtype, const at::Tensor& tied = {}) {
    up = register_parameter("up", wave({2 * width, width}, phase, dtype));
    bias = register_parameter("bias", wave({2 * width}, phase + 1, dtype));
    down =
        register_parameter("down", tied.defined() ? tied : wave({width, 2 * width}, phase, dtype));
  }
  at::Tensor forward(const at::Tensor& x) const {
    return run(x, [this](const at::Tensor& input) {
      return input + at::linear(at::tanh(at::linear(input, up, bias)), down);
    });
  }
  at::Tensor up, bias, down;
};

struct BlockNetOptions {
  at::ScalarType dtype = at::kDouble;
  bool freezes_first_blocks = false;  ///< the stem and the first two blocks do not train
  bool ties_blocks = false;           ///< blocks 1 and 3 share a weight
};

/// Images [N, 3, 8, 8] to logits [N, 5]: a channels-last convolution, four blocks, a linear layer.
class BlockNet final : public torch::nn::Module {
 public:
  explicit BlockNet(double phase = 0, const BlockNetOptions& options = {}) {
    const at::ScalarType dtype = options.dtype;
    stem = register_parameter(
        "stem", wave({6, 3, 3, 3}, phase, dtype).contiguous(at::MemoryFormat::ChannelsLast));
    for (int i = 0; i < 4; ++i) {
      const at::Tensor tied = options.ties_blocks && i == 3 ? blocks[1]->down : at::Tensor();
      blocks.push_back(register_module("block" + std::to_string(i),
                                       std::make_shared<LinearBlock>(6, phase + i, dtype, tied)));
    }
    head = register_parameter("head", wave({5, 6}, phase + 9, dtype));
    seen = register_buffer("seen", at::full({2}, phase, dtype));
    if (options.freezes_first_blocks) {
      stem.requires_grad_(false);
      for (int i = 0; i < 2; ++i) {
        for (const at::Tensor& parameter : blocks[static_cast<std::size_t>(i)]->parameters())
          parameter.requires_grad_(false);
      }
    }
  }

  at::Tensor forward(const at::Tensor& images) const {
    at::Tensor x = at::conv2d(images, stem, {}, 2).mean({2, 3});
    for (const auto& block : blocks) x = block->forward(x);
    return at::linear(x, head);
  }

  at::Tensor stem, head, seen;
  std::vector<std::shared_ptr<LinearBlock>> blocks;
};

/// The sum over samples of a loss against fixed targets, for samples [first, first + count).
inline at::Tensor summed_loss(const BlockNet& net, std::int64_t first, std::int64_t count) {
  const auto dtype = net.seen.scalar_type();
  const at::Tensor images = wave({64, 3, 8, 8}, 3, dtype).narrow(0, first, count);
  const at::Tensor targets = wave({64, 5}, 5, dtype).narrow(0, first, count);
  return (net.forward(images) - targets).square().sum();
}

}  // namespace paceline::test
