#pragma once

#include "paceline/comm/communicator.h"
#include "paceline/optim/optimizer.h"
#include "paceline/optim/param_groups.h"
#include "paceline/parallel/communication_report.h"
#include "paceline/parallel/missing_gradients.h"
#include "paceline/tensor/state_shard.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace paceline::nn {
struct NamedTensor;
}

namespace paceline::parallel {

class FrozenModule;  // parallel/frozen_module.h

using optim::GroupRule;
using tensor::StateShard;

/// Gives a parameter its first values, in place.
using FillValues = std::function<void(const nn::NamedTensor& parameter)>;

/// Whether the parameter of this name is trained.
using IsTrained = std::function<bool(const std::string& name)>;

/// Groups with the rules' settings, without slots: one for each rule.
std::vector<optim::ParamGroup> empty_groups(std::span<const GroupRule> rules);

/// Bytes that a strategy needs on this rank, padding included.
struct StrategyMemory {
  std::uint64_t parameters = 0;  ///< and buffers: what is held all the time
  std::uint64_t gradients = 0;   ///< likewise
  /// The most that comes and goes at once in a step: gathered parameters, gradients on their way to
  /// other ranks. A gradient that autograd has made and the strategy has not yet taken is none of
  /// it.
  std::uint64_t transient = 0;
};

/// Trains one model on many ranks: lays out its state, synchronises gradients, clips them, and says
/// what each rank saves. Every rank must call every function in the same order.
///
/// The step is: one or more microbatches, each {begin_microbatch, forward, backward}, then
/// finish_gradients, unscale (fp16) and clip by gradient_clipping.h, update. Gradients are summed
/// over microbatches and ranks; the caller weighs a loss that is summed over samples by 1 / the
/// samples of the global batch, and lets all ranks know if one has missing_gradients().
class Strategy {
 public:
  virtual ~Strategy() = default;
  virtual std::string_view name() const = 0;

  /// Takes over the parameters of `module`: makes all ranks equal to rank 0 and lays out parameters
  /// and gradients. Called once, before the optimizer is built. The first rule that matches wins.
  /// Parameters without memory (nn::defer_values) get it here, under strategies that shard only for
  /// as long as their unit is cut, and their values from `fill`, which is called on rank 0.
  virtual void prepare(torch::nn::Module& module, std::span<const GroupRule> rules,
                       const FillValues& fill) = 0;
  /// For a module all of whose parameters have their values.
  void prepare(torch::nn::Module& module, std::span<const GroupRule> rules) {
    prepare(module, rules, {});
  }

  /// Takes over the parameters of another module, all of them frozen, for forward passes beside the
  /// steps: whole on every rank, or cut as those of prepare() are where these are gathered unit by
  /// unit. Parameters without memory get it here and their values from `fill`, which is called on
  /// every rank, or on rank 0 for those that are cut. After prepare(). Every rank must call it.
  virtual std::unique_ptr<FrozenModule> hold_frozen(const torch::nn::Module& module,
                                                    const FillValues& fill);

  /// The parameters that prepare() laid out to be trained, a tied one under its first name.
  virtual std::span<const nn::NamedTensor> parameters() const = 0;
  /// Which of them are trained from the next step on; between two steps, alike on every rank.
  /// Autograd stops at the others, which are frozen: no rank waits for a gradient of theirs,
  /// gradients() holds zeros for them, and neither they nor their optimizer state move until they
  /// are trained again. What prepare() found frozen stays so. Nothing of this is saved: whoever
  /// says it says it again when a run goes on. Throws ConfigError, with nothing changed, if none is
  /// left to train, if the strategy cannot leave out just these, and if fix_trainable() was called.
  void set_trainable(const IsTrained& is_trained);
  /// The same by names: these and no others. Throws ConfigError for one that is none of
  /// parameters().
  void train_only(std::span<const std::string> names);
  /// From now on set_trainable() refuses changes, and gives this reason.
  void fix_trainable(std::string reason) { fixed_by_ = std::move(reason); }

  /// The slots for the optimizer, valid for the strategy's life.
  virtual std::vector<optim::ParamGroup> param_groups() = 0;
  /// Who has the rest of the parameters that these slots hold pieces of; valid for as long.
  virtual optim::ParameterShards parameter_shards() const = 0;

  /// Before the forward pass of a microbatch. The first of a step overwrites gradients, the others
  /// add; during the last one's backward the gradients are reduced over the ranks.
  virtual void begin_microbatch(bool is_first, bool is_last) = 0;
  /// Computes the gradients of `loss` (a scalar) times `weight`; the weight is the gradient that
  /// backward starts from, so it costs no node.
  virtual void backward(const at::Tensor& loss, double weight) = 0;
  /// Instead of backward on a rank that a ragged batch left without samples, after
  /// forward_nothing().
  virtual void backward_nothing() = 0;
  /// Blocks until all gradients are the global sums; on a device that queues its work, has what
  /// follows wait for them there. Throws CommError.
  virtual void finish_gradients() = 0;
  /// After microbatches none of which was the last, instead of finish_gradients(): gradients are
  /// this rank's own sums, and zeros where it has none. Throws ConfigError where each microbatch is
  /// reduced.
  virtual void end_own_pass();
  /// Whether it can.
  virtual bool has_own_gradients() const { return false; }
  /// After the last backward of a step: the parameters that must have a gradient and got none on
  /// this rank, or got one and must not. Asks neither other ranks nor the device. If any rank has
  /// some, the sums are of no use, and all ranks refuse_missing_gradients() after
  /// finish_gradients().
  virtual MissingGradients missing_gradients() const = 0;

  /// This rank's part of the gradients, for gradient_clipping.h: flat tensors [n], valid for the
  /// strategy's life, which hold the step's gradients, and are what its optimizer reads, from the
  /// call on until the next backward pass. Among the ranks that reduce_over_shards() each element
  /// lies on one.
  virtual std::span<const at::Tensor> gradients() = 0;
  using SeeGradient = std::function<void(std::size_t parameter, const at::Tensor& gradient)>;
  /// Has `see` be called with each gradient as soon as it is this step's sum, in backward, while
  /// the processor still has it in a cache; by its parameter's number, in its parameter's layout.
  /// Returns false, with nothing changed, where sums are known later than that: on several ranks
  /// and on devices. An empty function ends it.
  virtual bool watch_gradients(SeeGradient /*see*/) { return false; }
  /// After finish_gradients(): whether all gradients were seen as they still are. Whoever asked for
  /// gradients() since may have changed them.
  virtual bool watched_all() const { return false; }

  /// Reduces numbers that each rank computed of its gradients() or parameters, in place, over the
  /// ranks among which they are cut; does nothing where each rank has them all. Waits for no
  /// device.
  virtual void reduce_over_shards(const at::Tensor& values, comm::ReduceOp op,
                                  std::string_view label) const = 0;

  /// One step of the optimizer, the same each time, unless `skip` is 1 (see there). Frozen
  /// parameters, and those that no rank had a gradient for, stay as they are, and so does their
  /// state, which is copied meanwhile; strategies that shard take a gradient of zeros for the
  /// latter.
  void update(optim::Optimizer& optimizer, double lr, const at::Tensor& skip);
  void update(optim::Optimizer& optimizer, double lr) { update(optimizer, lr, {}); }
  /// Whether the update that comes leaves all parameters as the optimizer's step makes them; after
  /// finish_gradients().
  virtual bool takes_steps_as_they_are() const { return frozen_.empty(); }

  /// Makes the buffers (running statistics) of all ranks equal to rank 0's, unless told to keep
  /// them.
  virtual void synchronise_buffers() = 0;

  /// Around forward passes without gradients: outside a step, or before its first microbatch.
  virtual void begin_passes() {}
  /// The same with all parameters whole until end_passes(): each rank may run any parts of the
  /// network, any number of times, and forward_nothing() does nothing.
  virtual void begin_free_passes() { begin_passes(); }
  virtual void end_passes() {}
  /// Either of them with synchronised buffers.
  void begin_evaluation(bool are_free = false) {
    synchronise_buffers();
    if (are_free) {
      begin_free_passes();
    } else {
      begin_passes();
    }
  }
  void end_evaluation() { end_passes(); }
  /// Instead of a forward pass, in a step or outside, on a rank that a ragged batch left without
  /// samples.
  virtual void forward_nothing() {}

  /// Parameters and buffers. Collective under strategies that gather.
  virtual std::vector<StateShard> model_state() const = 0;
  /// What lies parallel to the slots of param_groups(), one tensor of its size for each (none where
  /// it is undefined), cut by parameter: `prefix` stands before the parameters' names.
  virtual std::vector<StateShard> cut_by_parameter(const std::string& prefix,
                                                   std::span<const at::Tensor> tensors) const = 0;
  /// Of what changes gradients on their way.
  virtual std::vector<StateShard> gradient_state() const { return {}; }
  /// The optimizer's, "optimizer.KIND/PARAMETER", and gradient_state().
  std::vector<StateShard> optimizer_state(const optim::Optimizer& optimizer) const;
  /// To be called after values were copied into the shards.
  virtual void state_was_loaded() = 0;

  /// Whether the work of a step, from begin_microbatch to finish_gradients, may be recorded once
  /// and replayed: it uses the same memory in every step.
  virtual bool can_be_recorded() const { return false; }

  /// After prepare(), from the same layout that it made. `num_microbatches` are those of a step.
  virtual StrategyMemory memory(int num_microbatches) const = 0;

  /// Seconds that this step has waited for the network so far, forward and backward; what work hid
  /// is not counted. begin_microbatch of a step's first microbatch starts again from 0.
  virtual double exposed_communication_s() const = 0;
  /// How the sums of the last step went; empty where there are no buckets.
  virtual CommunicationReport communication_report() const { return {}; }

 protected:
  /// Freezes these of parameters(), none or not all, and trains the others. Throws ConfigError,
  /// with nothing changed, if it cannot leave out just these.
  virtual void freeze(const std::set<std::string>& names) = 0;
  /// update() without regard to what is frozen.
  virtual void step(optim::Optimizer& optimizer, double lr, const at::Tensor& skip) {
    optimizer.step(lr, skip);
  }

 private:
  std::vector<at::Tensor> frozen_parts(const optim::Optimizer& optimizer);
  std::vector<StateShard> whole_parts(const std::string& prefix,
                                      const optim::ParameterState& state) const;

  std::set<std::string> frozen_;
  std::vector<at::Tensor> frozen_parts_;  // views of parameters and optimizer state, once known
  std::string fixed_by_;
};

}  // namespace paceline::parallel
