#include "paceline/parallel/sharded/sharded_gate.h"

#include "paceline/tensor/autocast.h"
#include "paceline/tensor/torch.h"

#include <algorithm>
#include <functional>
#include <utility>
#include <vector>

namespace paceline::parallel {
namespace {

struct BackwardTold : torch::CustomClassHolder {
  explicit BackwardTold(std::function<void()> to_tell) : tell(std::move(to_tell)) {}
  std::function<void()> tell;
};

/// Tensors as they are; in backward one node, which runs when the gradients of all are there.
struct Join : torch::autograd::Function<Join> {
  static torch::autograd::variable_list forward(torch::autograd::AutogradContext* context,
                                                at::TensorList inputs,
                                                const c10::intrusive_ptr<BackwardTold>& told) {
    context->set_materialize_grads(false);
    context->saved_data["told"] = c10::IValue::make_capsule(told);
    torch::autograd::variable_list outputs;
    for (const at::Tensor& input : inputs) outputs.push_back(at::alias(input));
    return outputs;
  }
  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 torch::autograd::variable_list gradients) {
    c10::static_intrusive_pointer_cast<BackwardTold>(context->saved_data["told"].toCapsule())
        ->tell();
    gradients.emplace_back();  // of whom it tells
    return gradients;
  }
};

std::vector<at::Tensor> joined(const std::vector<at::Tensor>& inputs,
                               const std::function<void()>& tell) {
  return Join::apply(at::TensorList(inputs), c10::make_intrusive<BackwardTold>(tell));
}

}  // namespace

/// A node of its own: its gradient is complete when the block's backward is, whoever else reads the
/// inputs.
ShardGate::Inputs ShardGate::watch_backward(const Inputs& inputs) {
  const auto tell = [this] {
    if (observer_ != nullptr) observer_->end_backward(block_);
  };
  if (inputs.size() > 1) return joined(inputs, tell);
  Inputs inside{at::alias(inputs.front())};
  inside.front().register_hook([tell](const at::Tensor&) { tell(); });
  return inside;
}

at::Tensor ShardGate::run(const Inputs& inputs, const Forward& forward) {
  if (observer_ == nullptr) return forward(inputs);
  observer_->begin_forward(block_);
  const bool has_backward = at::GradMode::is_enabled();
  const bool is_watched =
      has_backward && is_first_ && std::ranges::any_of(inputs, &at::Tensor::requires_grad);
  const Inputs inside = is_watched ? watch_backward(inputs) : inputs;
  // Autocast would keep the casts of gathered weights until the forward pass ends, and with them
  // what their shards were spared.
  const tensor::WithoutAutocastCache no_cache;
  at::Tensor output = forward(inside);
  if (has_backward && is_last_ && output.requires_grad()) {
    output.register_hook([this](const at::Tensor&) {
      if (observer_ != nullptr) observer_->begin_backward(block_);
    });
  }
  if (is_last_) observer_->end_forward(block_);
  return output;
}

}  // namespace paceline::parallel
