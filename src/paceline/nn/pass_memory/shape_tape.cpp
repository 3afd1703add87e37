#include "paceline/nn/pass_memory/shape_tape.h"

#include <algorithm>
#include <utility>

namespace paceline::nn {
namespace {

constexpr std::int64_t kAlignment = 64;  // of LibTorch's allocator on the CPU; on GPUs 512

}  // namespace

Shaped ShapeTape::take(std::int64_t values, std::int64_t width) {
  const std::int64_t bytes = (values * width + kAlignment - 1) / kAlignment * kAlignment;
  count_->held += bytes;
  count_->peak = std::max(count_->peak, count_->held);
  const std::shared_ptr<const void> memory(
      count_.get(), [bytes, count = count_](const void* /*count*/) { count->held -= bytes; });
  return {values, width, memory};
}

Shaped ShapeTape::record(Shaped output, const std::vector<Shaped>& inputs, Backward backward,
                         bool has_parameters) {
  output.place = -1;
  if (!is_recording_) return output;
  if (!has_parameters && std::ranges::none_of(inputs, &Shaped::wants_gradient)) return output;
  output.place = num_places_++;
  Operation operation{output.place, {}, std::move(backward)};
  for (const Shaped& input : inputs) operation.inputs.push_back({input.place, input.width});
  operations_.push_back(std::move(operation));
  return output;
}

Shaped ShapeTape::leaf(Shaped of) {
  of.place = num_places_++;
  return of;
}

Shaped ShapeTape::gradient_of(const Shaped& leaf) {
  const auto found = gradients_.extract(leaf.place);
  return found.empty() ? Shaped{} : found.mapped();
}

void ShapeTape::backward(const Shaped& output, Shaped grad, std::size_t since) {
  gradients_[output.place] = std::move(grad);
  while (operations_.size() > since) {
    Operation operation = std::move(operations_.back());
    operations_.pop_back();
    auto found = gradients_.extract(operation.output);
    if (found.empty()) continue;
    Gradients grads = operation.backward(std::move(found.mapped()));
    operation.backward = nullptr;  // with what it kept
    for (std::size_t i = 0; i < grads.size(); ++i)
      add_gradient(operation.inputs.at(i), std::exchange(grads[i], {}));
  }
}

// As the engine: in the type of what it is the gradient of, and in place where nobody else sees it.
void ShapeTape::add_gradient(const Input& to, Shaped grad) {
  if (to.place < 0 || grad.values == 0) return;
  grad.place = -1;
  if (grad.width != to.width) grad = take(grad.values, to.width);
  Shaped& sum = gradients_[to.place];
  if (sum.values > 0 && sum.memory.use_count() > 1) {
    sum = take(grad.values, to.width);
  } else if (sum.values == 0) {
    sum = std::move(grad);
  }
}

}  // namespace paceline::nn
