#pragma once

#include "paceline/tensor/torch.h"

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace paceline::nn {

/// Computes a unit in another way: gathers its weights before and frees them afterwards, or
/// computes it once more in backward instead of keeping what lies inside.
class UnitWrapper {
 public:
  using Inputs = std::vector<at::Tensor>;
  using Forward = std::function<at::Tensor(const Inputs& inputs)>;

  virtual ~UnitWrapper() = default;
  /// Returns what forward(inputs) returns.
  virtual at::Tensor run(const Inputs& inputs, const Forward& forward) = 0;
};

/// A part of a network with one output and one input, or several that gradients go to, such as a
/// transformer or a residual block: what a strategy gathers at once and what activation
/// checkpointing recomputes. It must not change its input in place. It runs at most once in a
/// forward pass. Units do not lie inside units.
class Unit : public torch::nn::Module {
 public:
  /// Whether passes of the whole network leave it out, as a part that only evaluations use.
  bool is_idle() const { return is_idle_; }
  void set_idle(bool is_idle) { is_idle_ = is_idle; }
  /// A later wrapper encloses the earlier ones.
  void wrap(std::shared_ptr<UnitWrapper> wrapper) { wrappers_.push_back(std::move(wrapper)); }

 protected:
  /// To be called by the derived class's forward() with all that it does. `forward` may be called
  /// again in backward, so it captures what it needs besides the input by value.
  template <typename Forward>
  at::Tensor run(const at::Tensor& input, const Forward& forward) const {
    if (wrappers_.empty()) return forward(input);
    return run_with(
        {input}, [forward](const UnitWrapper::Inputs& inputs) { return forward(inputs.front()); });
  }
  /// The same of several inputs: all tensors besides parameters and buffers that forward() uses.
  at::Tensor run_with(const UnitWrapper::Inputs& inputs,
                      const UnitWrapper::Forward& forward) const {
    return run_wrapped(inputs, forward, wrappers_.size());
  }

 private:
  at::Tensor run_wrapped(const UnitWrapper::Inputs& inputs, const UnitWrapper::Forward& forward,
                         std::size_t num_wrappers) const;

  std::vector<std::shared_ptr<UnitWrapper>> wrappers_;
  bool is_idle_ = false;
};

/// A unit and its place in the module tree.
struct NamedUnit {
  std::string name;  ///< "blocks.0", "layer1.0"
  std::shared_ptr<Unit> unit;
};

/// The units below `module` in registration order.
std::vector<NamedUnit> units(const torch::nn::Module& module);

}  // namespace paceline::nn
