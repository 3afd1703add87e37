#pragma once

#include "paceline/optim/optimizer.h"
#include "paceline/optim/param_groups.h"
#include "paceline/parallel/bucket_reducer.h"
#include "paceline/tensor/state_shard.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace paceline::parallel {

using optim::GroupRule;
using tensor::StateShard;

/// Trains one model on many ranks: lays out its state, synchronises gradients, clips them, and says
/// what each rank saves. Every rank must call every function in the same order.
///
/// The step is: one or more microbatches, each {begin_microbatch, forward, backward}, then
/// finish_gradients, unscale (fp16), clip, optimizer step. Gradients are summed over microbatches
/// and ranks; the caller weighs a loss that is summed over samples by 1 / the samples of the global
/// batch.
class Strategy {
 public:
  virtual ~Strategy() = default;
  virtual std::string_view name() const = 0;

  /// Takes over the parameters of `module`: makes all ranks equal to rank 0 and lays out parameters
  /// and gradients. Called once, before the optimizer is built. The first rule that matches wins.
  virtual void prepare(torch::nn::Module& module, std::span<const GroupRule> rules) = 0;

  /// The slots for the optimizer, valid for the strategy's life.
  virtual std::vector<optim::ParamGroup> param_groups() = 0;

  /// Before the forward pass of a microbatch. The first of a step overwrites gradients, the others
  /// add; during the last one's backward the gradients are reduced over the ranks.
  virtual void begin_microbatch(bool is_first, bool is_last) = 0;
  /// Computes the gradients of `loss` (a scalar) times `weight`; the weight is the gradient that
  /// backward starts from, so it costs no node.
  virtual void backward(const at::Tensor& loss, double weight) = 0;
  /// Instead of backward on a rank that a ragged batch left without samples, after
  /// forward_nothing().
  virtual void backward_nothing() = 0;
  /// Blocks until all gradients are the global sums. Throws CommError. Unless unused parameters are
  /// allowed, all ranks throw the same ConfigError if any of them got no gradient for a parameter;
  /// it names parameters and ranks.
  virtual void finish_gradients() = 0;
  /// Multiplies all gradients by `factor`, after finish_gradients and before clipping. Returns
  /// whether any of them, on any rank, was infinite or NaN: the same on all ranks.
  virtual bool unscale_gradients(double factor) = 0;

  /// Euclidean norm of all gradients over every shard, in float32 (float64 for float64 gradients).
  virtual double grad_norm() = 0;
  /// Scales the gradients so that their norm is at most max_norm; returns the norm before.
  virtual double clip_grad_norm(double max_norm) = 0;
  virtual void clip_grad_value(double max_value) = 0;

  /// One step of the optimizer. Parameters that no rank had a gradient for stay as they are, and so
  /// does their state; strategies that shard take a gradient of zeros for them.
  virtual void update(optim::Optimizer& optimizer, double lr) { optimizer.step(lr); }

  /// Makes the buffers (running statistics) of all ranks equal to rank 0's, unless told to keep
  /// them.
  virtual void synchronise_buffers() = 0;

  /// Around forward passes outside a step, without gradients. Buffers are synchronised.
  virtual void begin_evaluation() { synchronise_buffers(); }
  virtual void end_evaluation() {}
  /// Instead of a forward pass, in a step or outside, on a rank that a ragged batch left without
  /// samples.
  virtual void forward_nothing() {}

  /// Parameters and buffers, then the state of the optimizer and of what else changes gradients.
  /// Collective under strategies that gather.
  virtual std::vector<StateShard> model_state() = 0;
  virtual std::vector<StateShard> optimizer_state(optim::Optimizer& optimizer) = 0;
  /// To be called after values were copied into the shards.
  virtual void state_was_loaded() = 0;

  /// Seconds spent waiting for the network in the last step that backward did not hide.
  virtual double exposed_communication_s() const = 0;
  /// Parameters whose gradients came later in the last step than the order of communication
  /// expects, so that what was ready had to wait for them.
  virtual std::vector<std::string> late_parameters() const { return {}; }
  /// How the sums of the last step went; empty where there are no buckets.
  virtual CommunicationReport communication_report() const { return {}; }
};

}  // namespace paceline::parallel
