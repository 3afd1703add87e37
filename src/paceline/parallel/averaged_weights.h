#pragma once

#include "paceline/parallel/strategy.h"
#include "paceline/tensor/aten.h"

#include <string>
#include <vector>

namespace paceline::parallel {

/// An average of the weights that a strategy trains and of the model's floating buffers (running
/// statistics), laid out as the strategy holds them: shards are averaged as shards, and no rank
/// asks another. Weights that are not trained and counters are none of it.
class AveragedWeights {
 public:
  /// Equal to the weights at hand. The strategy is prepared and must outlive it.
  explicit AveragedWeights(Strategy& strategy);

  /// average <- average + share * (weights - average); a share of 1 copies them bit for bit. What
  /// move_weights_with_step() had done by the step before is not done again.
  void move_weights(double share);
  /// Has the optimizer's step that comes do the move_weights() that follows it, with the same
  /// share, in its own pass over the weights, which saves reading them once more. False, with
  /// nothing changed, where it cannot, or where that is not all that the step does to the weights.
  /// After Strategy::finish_gradients().
  bool move_weights_with_step(optim::Optimizer& optimizer, double share);
  /// As move_weights(), of buffers.
  void move_buffers(double share);

  /// Writes the average over what the strategy trains.
  void load();
  /// Exchanges both, bit for bit.
  void swap();

  /// Of weights and buffers, cut by parameter: `prefix` stands before their names.
  std::vector<StateShard> shards(const std::string& prefix) const;

 private:
  struct Buffer {
    StateShard shard;  ///< of the model
    at::Tensor average;
  };
  /// A tensor of the run and its average.
  struct Pair {
    at::Tensor value;
    at::Tensor average;
  };
  std::vector<Pair> pairs() const;

  Strategy& strategy_;
  std::vector<at::Tensor> weights_;   ///< as param_groups() has them: flat, or shards
  std::vector<at::Tensor> averages_;  ///< parallel to them
  std::vector<Buffer> buffers_;
  bool has_moved_with_step_ = false;
};

}  // namespace paceline::parallel
