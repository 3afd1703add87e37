#include "paceline/nn/rerun.h"

#include "paceline/base/error.h"

#include <utility>

namespace paceline::nn {
namespace {

// Modules are called through code that knows nothing of reruns, so the thread tells them.
thread_local Rerun* current = nullptr;

}  // namespace

bool Rerun::is_repeating() { return current != nullptr && current->has_run_; }

bool Rerun::keeps_matmuls() { return current != nullptr && current->keeps_matmuls_; }

Rerun::Tensors Rerun::once(const std::function<Tensors()>& compute) {
  if (current == nullptr) return compute();
  if (!current->has_run_) {
    Tensors found = compute();
    // What is returned may become part of a graph, which then must not be kept by what it keeps.
    Tensors& kept = current->results_.emplace_back();
    for (const at::Tensor& tensor : found) kept.push_back(tensor.detach());
    return found;
  }
  PACELINE_CHECK(current->num_taken_ < current->results_.size(),
                 "what is computed again does more than it did at first");
  return current->results_[current->num_taken_++];
}

Rerun::Scope::Scope(Rerun& rerun) : outer_(std::exchange(current, &rerun)) { rerun.num_taken_ = 0; }

Rerun::Scope::~Scope() {
  current->has_run_ = true;
  current = outer_;
}

}  // namespace paceline::nn
