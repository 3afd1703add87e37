#include "paceline/nn/module_tree.h"

#include "paceline/tensor/storage.h"

namespace paceline::nn {
namespace {

void append(const torch::nn::Module& module, const std::string& prefix,
            std::vector<NamedTensor>& out) {
  for (const auto& item : module.named_parameters(/*recurse=*/false)) {
    out.push_back({prefix + item.key(), item.value(), true});
  }
  for (const auto& item : module.named_buffers(/*recurse=*/false)) {
    out.push_back({prefix + item.key(), item.value(), false});
  }
  for (const auto& child : module.named_children()) {
    append(*child.value(), prefix + child.key() + ".", out);
  }
}

}  // namespace

std::vector<NamedTensor> state_dict(const torch::nn::Module& module) {
  std::vector<NamedTensor> out;
  append(module, "", out);
  return out;
}

std::vector<NamedTensor> named_parameters(const torch::nn::Module& module) {
  std::vector<NamedTensor> out = state_dict(module);
  std::erase_if(out, [](const NamedTensor& item) { return !item.is_parameter; });
  return out;
}

void defer_values(torch::nn::Module& module) {
  for (const NamedTensor& item : named_parameters(module)) tensor::free_memory(item.tensor);
}

void set_training(torch::nn::Module& module, bool training) { module.train(training); }

void set_dtype(torch::nn::Module& module, at::ScalarType dtype) {
  const at::NoGradGuard no_grad;
  for (const NamedTensor& item : state_dict(module)) {
    if (!item.tensor.is_floating_point()) continue;
    item.tensor.set_data(tensor::has_memory(item.tensor)
                             ? item.tensor.to(dtype)
                             : tensor::without_memory(item.tensor, dtype, item.tensor.device()));
  }
}

void set_device(torch::nn::Module& module, at::Device device) {
  const at::NoGradGuard no_grad;
  for (const NamedTensor& item : state_dict(module)) {
    if (item.tensor.device() == device) continue;
    item.tensor.set_data(
        tensor::has_memory(item.tensor)
            ? item.tensor.to(device)
            : tensor::without_memory(item.tensor, item.tensor.scalar_type(), device));
  }
}

void set_channels_last(torch::nn::Module& module) {
  const at::NoGradGuard no_grad;
  for (const NamedTensor& item : named_parameters(module)) {
    if (item.tensor.dim() != 4 || item.tensor.is_contiguous(at::MemoryFormat::ChannelsLast))
      continue;
    if (tensor::has_memory(item.tensor)) {
      item.tensor.set_data(item.tensor.contiguous(at::MemoryFormat::ChannelsLast));
    } else {
      item.tensor.unsafeGetTensorImpl()->empty_tensor_restride(at::MemoryFormat::ChannelsLast);
    }
  }
}

}  // namespace paceline::nn
