#pragma once

#include "paceline/parallel/sharded/sharded_flat.h"

#include <memory>
#include <string>
#include <vector>

namespace paceline::parallel {

/// What is gathered, freed and reduced at once: the parameters of a block, or all that lie in no
/// block. Keeps count of what is in flight and of the gradients that are still missing.
class ShardUnit {
 public:
  explicit ShardUnit(std::string name) : name_(std::move(name)) {}

  void add(std::unique_ptr<ShardedFlat> flat);
  const std::string& name() const { return name_; }
  const std::vector<std::unique_ptr<ShardedFlat>>& flats() const { return flats_; }
  /// Whether any of it requires a gradient.
  bool is_trainable() const { return num_trainable_ > 0; }
  /// Between two steps: parameters require gradients, or do so no more.
  void follow_trainable();

  /// Starts to gather the parameters, unless they are there or on their way.
  void start_gather();
  /// Returns when they are there. Gives the seconds that it waited.
  double finish_gather();
  /// Frees the gathered parameters, unless they are kept.
  void release();
  /// The shards changed: what was gathered counts no longer.
  void expire();

  /// A backward pass begins; its gradients start a new sum or are added to the sum so far.
  void begin_gradients(bool starts_sum);
  /// This rank's gradient of a parameter. A parameter that several recomputed blocks share gets one
  /// from each.
  void take_gradient(std::size_t flat, std::size_t slot, const at::Tensor& grad);
  /// The pass is over: what got no gradient counts as zero.
  void zero_missing_gradients();
  bool has_all_gradients() const { return num_missing_ == 0; }

  void start_reduce();
  /// Waits for the sum and puts or adds it into the gradient shards. Gives the seconds it waited.
  double finish_reduce(bool add);

 private:
  std::string name_;
  std::vector<std::unique_ptr<ShardedFlat>> flats_;
  // Of each slot of each trained flat: whether there is a sum to add to, and a gradient of this
  // pass.
  std::vector<std::vector<char>> has_sum_;
  std::vector<std::vector<char>> has_gradient_;
  std::size_t num_trainable_ = 0;
  std::size_t num_missing_ = 0;  // in this pass
  std::vector<std::unique_ptr<comm::Work>> gathers_;
  std::vector<std::unique_ptr<comm::Work>> reductions_;
  bool was_reduced_ = false;  // in this pass
  bool is_gathering_ = false;
  bool is_gathered_ = false;
};

}  // namespace paceline::parallel
