#pragma once

#include "paceline/tensor/aten.h"

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace paceline::optim {

/// What the optimizer updates at once: one parameter, or a flat range that holds many. The gradient
/// has the same sizes and strides and is read at every step; it is never replaced.
struct ParamSlot {
  at::Tensor param;
  at::Tensor grad;
};

/// Slots that share hyper-parameters.
struct ParamGroup {
  std::string name;  ///< "decay" or "no_decay" unless a user made it
  double weight_decay = 0.0;
  double lr_scale = 1.0;  ///< multiplies the schedule's learning rate
  std::vector<ParamSlot> slots = {};
};

/// One kind of state, parallel to the slots of all groups in order (group by group, slot by slot);
/// each tensor has the sizes and strides of its slot's parameter, so that a strategy can cut it by
/// parameter.
struct SlotState {
  std::string name;  ///< as in torch.optim: "momentum_buffer", "exp_avg", "exp_avg_sq"
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

  /// The state to save and restore, allocated at construction: load by copying into the tensors.
  virtual std::vector<SlotState> state() = 0;
  /// How many updates were made (bias correction); saved beside state().
  virtual std::int64_t num_steps() const = 0;
  virtual void set_num_steps(std::int64_t num_steps) = 0;

  virtual std::vector<ParamGroup>& groups() = 0;
};

}  // namespace paceline::optim
