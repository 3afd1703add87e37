#include "paceline/parallel/named_tensors.h"

#include "paceline/base/error.h"
#include "paceline/tensor/element_order.h"

#include <unordered_set>
#include <utility>

#include <fmt/format.h>

namespace paceline::parallel {
namespace {

template <class Predicate>
std::vector<NamedTensor> select_once(const torch::nn::Module& module, Predicate&& wanted) {
  std::vector<NamedTensor> selected;
  std::unordered_set<const void*> seen;
  for (NamedTensor& named : nn::state_dict(module)) {
    if (named.tensor.defined() && wanted(named) &&
        seen.insert(named.tensor.unsafeGetTensorImpl()).second) {
      selected.push_back(std::move(named));
    }
  }
  return selected;
}

std::vector<NamedTensor> with_gradients(const torch::nn::Module& module) {
  return select_once(module, [](const NamedTensor& named) {
    return named.is_parameter && named.tensor.requires_grad();
  });
}

}  // namespace

std::vector<NamedTensor> trainable_parameters(const torch::nn::Module& module) {
  std::vector<NamedTensor> parameters = with_gradients(module);
  if (parameters.empty()) throw base::ConfigError("the model has no trainable parameter");
  return parameters;
}

std::vector<NamedTensor> all_parameters(const torch::nn::Module& module) {
  std::vector<NamedTensor> parameters = with_gradients(module);
  for (NamedTensor& named : frozen_parameters(module)) parameters.push_back(std::move(named));
  return parameters;
}

void freeze_only(std::span<const NamedTensor> parameters, const std::set<std::string>& names) {
  for (const NamedTensor& named : parameters)
    named.tensor.requires_grad_(!names.contains(named.name));
}

std::vector<NamedTensor> frozen_parameters(const torch::nn::Module& module) {
  return select_once(module, [](const NamedTensor& named) {
    return named.is_parameter && !named.tensor.requires_grad();
  });
}

std::vector<NamedTensor> module_buffers(const torch::nn::Module& module) {
  return select_once(module, [](const NamedTensor& named) { return !named.is_parameter; });
}

std::vector<NamedTensor> module_state(const torch::nn::Module& module) {
  std::vector<NamedTensor> state = nn::state_dict(module);
  std::erase_if(state, [](const NamedTensor& named) { return !named.tensor.defined(); });
  return state;
}

void append_own_buffers(std::vector<tensor::StateShard>& shards,
                        std::span<const NamedTensor> buffers,
                        const comm::Communicator& communicator) {
  for (const NamedTensor& named : buffers) {
    std::vector<std::int64_t> shape = named.tensor.sizes().vec();
    shape.insert(shape.begin(), communicator.world_size());
    const std::int64_t numel = named.tensor.numel();
    const tensor::ElementOrder order =
        tensor::memory_order(named.tensor.sizes(), named.tensor.strides());
    tensor::ElementOrder order_of_all;  // ranks come first
    for (const std::int64_t dimension : order) order_of_all.push_back(dimension + 1);
    if (!order.empty()) order_of_all.insert(order_of_all.begin(), 0);
    shards.push_back({.name = std::string(tensor::kRankBuffers) + named.name,
                      .data = tensor::in_order(named.tensor.detach(), order).view({-1}),
                      .shape = std::move(shape),
                      .begin = communicator.rank() * numel,
                      .end = (communicator.rank() + 1) * numel,
                      .is_per_rank = true,
                      .is_buffer = true,
                      .order = std::move(order_of_all)});
  }
}

std::uint64_t bytes_of(std::span<const NamedTensor> tensors) {
  std::uint64_t bytes = 0;
  for (const NamedTensor& named : tensors) bytes += named.tensor.nbytes();
  return bytes;
}

void check_fill(const std::function<void(const NamedTensor&)>& fill, const std::string& name) {
  PACELINE_CHECK(
      fill, "parameter '{}' has no memory, and prepare() got nothing that gives it values", name);
}

std::string list_names(std::span<const std::string> names) {
  constexpr std::size_t kShown = 10;
  std::string text;
  for (std::size_t i = 0; i < names.size() && i < kShown; ++i) {
    text += fmt::format("{}'{}'", i == 0 ? "" : ", ", names[i]);
  }
  if (names.size() > kShown) text += fmt::format(" and {} more", names.size() - kShown);
  return text;
}

}  // namespace paceline::parallel
