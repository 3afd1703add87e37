#include "paceline/parallel/sharded/sharded_gate.h"

#include "paceline/tensor/autocast.h"

namespace paceline::parallel {

at::Tensor ShardGate::run(const at::Tensor& input, const Forward& forward) {
  if (observer_ == nullptr) return forward(input);
  observer_->begin_forward(block_);
  const bool has_backward = at::GradMode::is_enabled();
  at::Tensor inside = input;
  if (has_backward && is_first_ && input.requires_grad()) {
    // A node of its own: its gradient is complete when the block's backward is, whoever else reads
    // the input.
    inside = at::alias(input);
    inside.register_hook([this](const at::Tensor&) {
      if (observer_ != nullptr) observer_->end_backward(block_);
    });
  }
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
