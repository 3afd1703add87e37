#pragma once

#include "paceline/nn/unit.h"

#include <cstddef>

namespace paceline::parallel {

/// Who is told when a pass enters and leaves a block, forward and backward.
class BlockObserver {
 public:
  virtual ~BlockObserver() = default;
  virtual void begin_forward(std::size_t block) = 0;
  virtual void end_forward(std::size_t block) = 0;
  virtual void begin_backward(std::size_t block) = 0;
  virtual void end_backward(std::size_t block) = 0;
};

/// Stands around a block of a model and tells its observer. Blocks that belong together have one
/// gate each; the first tells of the beginning, the last of the end.
class ShardGate final : public nn::UnitWrapper {
 public:
  /// `observer` must outlive this or call remove().
  ShardGate(BlockObserver& observer, std::size_t block, bool is_first, bool is_last)
      : observer_(&observer), block_(block), is_first_(is_first), is_last_(is_last) {}

  /// From now on the block computes by itself.
  void remove() { observer_ = nullptr; }

  at::Tensor run(const Inputs& inputs, const Forward& forward) override;

 private:
  Inputs watch_backward(const Inputs& inputs);

  BlockObserver* observer_;
  std::size_t block_;
  bool is_first_;
  bool is_last_;
};

}  // namespace paceline::parallel
