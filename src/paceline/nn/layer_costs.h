#pragma once

#include "paceline/tensor/torch.h"

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace paceline::nn {

/// What a layer costs in one forward pass of one sample.
struct LayerCost {
  const torch::nn::Module* layer = nullptr;  ///< of the network that was counted
  double flops = 0;                          ///< multiply-accumulate operations, times two
  std::vector<std::int64_t> output;          ///< its sizes, without the dimension of the batch
};

/// The layers of a network that multiply, in the order in which they are computed. Normalisations,
/// activations and sums are not counted, as in torch.utils.flop_counter.
class LayerCosts {
 public:
  void add(const torch::nn::Module& layer, double flops, std::vector<std::int64_t> output) {
    layers_.push_back({&layer, flops, std::move(output)});
  }

  std::span<const LayerCost> layers() const { return layers_; }
  double flops() const {
    double total = 0;
    for (const LayerCost& cost : layers_) total += cost.flops;
    return total;
  }
  /// Numbers that these layers give out.
  double activations() const {
    double total = 0;
    for (const LayerCost& cost : layers_)
      total += static_cast<double>(c10::multiply_integers(cost.output));
    return total;
  }

 private:
  std::vector<LayerCost> layers_;
};

}  // namespace paceline::nn
