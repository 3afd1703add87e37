#include "paceline/nn/activation_checkpoint.h"

#include "paceline/base/error.h"
#include "paceline/nn/rerun.h"
#include "paceline/nn/unit.h"
#include "paceline/tensor/autocast.h"

#include <algorithm>
#include <utility>

#include <torch/csrc/autograd/engine.h>

namespace paceline::nn {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

/// What is to be computed again, under the settings of the first time.
class Segment : public torch::CustomClassHolder {
 public:
  Segment(UnitWrapper::Forward forward, at::DeviceType device, KeptResults kept)
      : forward_(std::move(forward)),
        autocast_(tensor::AutocastSettings::current(device)),
        rerun_(kept == KeptResults::kMatmuls) {}

  at::Tensor run(const UnitWrapper::Inputs& inputs) {
    const tensor::AutocastGuard autocast(autocast_);
    // The first run's casts are not connected to the weights, and the second's would stay when the
    // weights change.
    const tensor::WithoutAutocastCache no_cache;
    const Rerun::Scope scope(rerun_);
    return forward_(inputs);
  }

 private:
  UnitWrapper::Forward forward_;
  tensor::AutocastSettings autocast_;
  Rerun rerun_;
};

/// The parameters receive their gradients inside backward, which for them is a pass of its own.
struct Checkpoint : torch::autograd::Function<Checkpoint> {
  static at::Tensor forward(AutogradContext* context, at::TensorList inputs,
                            const at::Tensor& /*anchor*/,
                            const c10::intrusive_ptr<Segment>& segment) {
    context->save_for_backward(inputs.vec());
    context->saved_data["segment"] = c10::IValue::make_capsule(segment);
    return segment->run(inputs.vec());
  }

  static variable_list backward(AutogradContext* context, const variable_list& grad_outputs) {
    PACELINE_CHECK(torch::autograd::Engine::get_default_engine().is_checkpoint_valid(),
                   "a pass for some gradients only, as torch::autograd::grad() asks for, cannot go "
                   "through an activation checkpoint: use backward()");
    const auto segment =
        c10::static_intrusive_pointer_cast<Segment>(context->saved_data["segment"].toCapsule());
    UnitWrapper::Inputs inputs = context->get_saved_variables();
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      inputs[i] = inputs[i].detach();
      inputs[i].set_requires_grad(context->needs_input_grad(i));
    }
    at::Tensor output;
    {
      const at::AutoGradMode with_grad(true);
      output = segment->run(inputs);
    }
    torch::autograd::backward({output}, {grad_outputs[0]});
    context->saved_data.erase("segment");  // with what it kept; the graph may live on
    variable_list gradients;
    for (const at::Tensor& input : inputs) gradients.push_back(input.grad());
    gradients.resize(gradients.size() + 2);  // of the anchor and the segment
    return gradients;
  }
};

class ActivationCheckpoint final : public UnitWrapper {
 public:
  ActivationCheckpoint(std::vector<at::Tensor> parameters, KeptResults kept)
      : parameters_(std::move(parameters)), kept_(kept) {}

  at::Tensor run(const Inputs& inputs, const Forward& forward) override {
    const bool has_gradient = std::ranges::any_of(inputs, &at::Tensor::requires_grad) ||
                              std::ranges::any_of(parameters_, &at::Tensor::requires_grad);
    if (!at::GradMode::is_enabled() || !has_gradient) return forward(inputs);
    // A node comes about only if an input requires grad, and the parameters are not among its
    // inputs.
    const at::Tensor anchor = at::zeros({}).set_requires_grad(true);
    const at::DeviceType device = inputs.front().device().type();
    return Checkpoint::apply(at::TensorList(inputs), anchor,
                             c10::make_intrusive<Segment>(forward, device, kept_));
  }

 private:
  std::vector<at::Tensor> parameters_;
  KeptResults kept_;
};

}  // namespace

int set_activation_checkpointing(torch::nn::Module& module, int every, KeptResults kept) {
  const std::vector<NamedUnit> all = units(module);
  if (all.empty()) {
    throw base::ConfigError("activation checkpointing: the model has no units to compute again");
  }
  int count = 0;
  for (std::size_t i = 0; i < all.size(); i += static_cast<std::size_t>(every), ++count) {
    all[i].unit->wrap(std::make_shared<ActivationCheckpoint>(all[i].unit->parameters(), kept));
  }
  return count;
}

}  // namespace paceline::nn
