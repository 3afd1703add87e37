#pragma once

#include "paceline/parallel/named_tensors.h"
#include "paceline/parallel/strategy.h"

#include <cstdint>

namespace paceline::parallel {

/// A module that no step trains, as a strategy holds it for forward passes without gradients. Every
/// rank must call every function in the same order; the strategy must outlive it.
class FrozenModule {
 public:
  virtual ~FrozenModule() = default;
  /// Around a forward pass.
  virtual void begin_forward() = 0;
  virtual void end_forward() = 0;
  /// Instead of one, on a rank that a ragged batch left without samples.
  virtual void forward_nothing() = 0;
  /// Bytes on this rank: parameters and buffers, and the most that comes and goes in a pass.
  virtual std::uint64_t bytes() const = 0;
};

/// Whole on every rank.
class WholeFrozenModule final : public FrozenModule {
 public:
  /// Parameters without memory get it, and their values from `fill`.
  WholeFrozenModule(const torch::nn::Module& module, const FillValues& fill);

  void begin_forward() override {}
  void end_forward() override {}
  void forward_nothing() override {}
  std::uint64_t bytes() const override { return bytes_; }

 private:
  std::uint64_t bytes_;
};

}  // namespace paceline::parallel
