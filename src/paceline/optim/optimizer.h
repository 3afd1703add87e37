#pragma once

#include "paceline/tensor/aten.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace paceline::optim {

/// A parameter's part of a slot.
struct ParamPiece {
  std::int64_t parameter = 0;  ///< its number, the same on every rank
  std::int64_t begin = 0;      ///< elements [begin, end) of the slot, in the order of memory
  std::int64_t end = 0;
  std::int64_t offset = 0;  ///< of the first of them in the whole parameter, in the same order
};

/// What every rank knows of a parameter, whatever it has of it.
struct WholeParameter {
  std::vector<std::int64_t> sizes;
  at::ScalarType dtype = at::kFloat;
  std::size_t group = 0;                 ///< its number in the groups
  std::vector<std::int64_t> order = {};  ///< of its elements in memory, as StateShard::order
  std::string name = {};                 ///< in the state_dict

  std::int64_t numel() const { return c10::multiply_integers(sizes); }
};

/// The ranks that have parts of the same parameters, for optimizers that need a number of a whole
/// one, or all of it.
struct ParameterShards {
  std::vector<WholeParameter> parameters = {};  ///< empty: each slot is a whole parameter
  int rank = 0;                                 ///< among those ranks
  int world_size = 1;
  at::Device device = at::kCPU;  ///< where they lie
  bool is_writer = true;         ///< of all ranks of the run, one is: it saves what all have alike
  /// Sums over those ranks in place, a tensor beside the parameters. All of them must call it.
  /// Waits for no device.
  std::function<void(const at::Tensor& values)> sum = [](const at::Tensor&) {};
};

/// What the optimizer updates at once: one parameter, or a flat range that holds many. The gradient
/// has the same sizes and strides and is read at every step; the tensor is never replaced, but its
/// memory may be another each time, so that nobody keeps views of it.
struct ParamSlot {
  at::Tensor param;
  at::Tensor grad;
  std::vector<ParamPiece> pieces = {};  ///< none: it is one parameter
};

/// Slots that share hyper-parameters.
struct ParamGroup {
  std::string name;  ///< "decay" or "no_decay" unless a user made it
  double weight_decay = 0.0;
  double lr_scale = 1.0;  ///< multiplies the schedule's learning rate
  std::vector<ParamSlot> slots = {};
  bool is_matrix = false;  ///< GroupRule::is_matrix
};

/// One kind of state, parallel to the slots of all groups in order (group by group, slot by slot);
/// each tensor has the sizes and strides of its slot's parameter, so that a strategy can cut it by
/// parameter, or is undefined where the slot has no such state.
struct SlotState {
  std::string name;  ///< as in torch.optim: "momentum_buffer", "exp_avg", "exp_avg_sq"
  std::vector<at::Tensor> tensors;
};

/// One kind of state that whole parameters have, instead of their elements: the same on every rank
/// that has a part of them. By the parameters' numbers; undefined where one has no such state.
struct ParameterState {
  std::string name;  ///< as in torch.optim: "row_var"
  std::vector<at::Tensor> tensors;
};

/// Updates parameters from gradients. Not thread-safe.
class Optimizer {
 public:
  virtual ~Optimizer() = default;
  virtual std::string_view name() const = 0;

  /// One update with this learning rate; bumps the version of every slot's parameter. `skip`, if
  /// defined, is a float32 scalar beside the parameters: where it is 1 they and the state stay as
  /// they are, which a device finds out without asking the host. Who reads it later takes the
  /// update back from the count by set_num_steps().
  virtual void step(double lr, const at::Tensor& skip) = 0;
  void step(double lr) { step(lr, {}); }

  /// Has the next step multiply each gradient by `factor` as it reads it, and leave the gradients
  /// as they are. False, with nothing changed, for an optimizer that cannot: who asks does it
  /// himself.
  virtual bool scale_next_gradients(double /*factor*/) { return false; }
  /// Has the next step move `averages`, which lie like the slots' parameters in their order,
  /// towards what it makes of those, as at::lerp with `share` would: also where it is skipped.
  /// False, with nothing changed, for an optimizer that cannot.
  virtual bool average_next_parameters(std::span<const at::Tensor> /*averages*/, double /*share*/) {
    return false;
  }

  /// The state to save and restore, allocated at construction: load by copying into the tensors.
  virtual std::vector<SlotState> state() const = 0;
  virtual std::vector<ParameterState> parameter_state() const { return {}; }
  /// Bytes that it holds besides its state.
  virtual std::uint64_t scratch_bytes() const { return 0; }
  /// How many updates were made (bias correction); saved beside state().
  virtual std::int64_t num_steps() const = 0;
  virtual void set_num_steps(std::int64_t num_steps) = 0;

  virtual std::vector<ParamGroup>& groups() = 0;

  /// The momentum, or beta1, of the updates from now on. False, with nothing changed, for an
  /// optimizer that has none or cannot change it.
  virtual bool set_momentum(double /*momentum*/) { return false; }
};

}  // namespace paceline::optim
