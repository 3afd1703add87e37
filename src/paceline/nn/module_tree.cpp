#include "paceline/nn/module_tree.h"

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

void set_training(torch::nn::Module& module, bool training) { module.train(training); }

void set_dtype(torch::nn::Module& module, at::ScalarType dtype) {
  const at::NoGradGuard no_grad;
  for (const NamedTensor& item : state_dict(module)) {
    if (item.tensor.is_floating_point()) item.tensor.set_data(item.tensor.to(dtype));
  }
}

void set_device(torch::nn::Module& module, at::Device device) {
  const at::NoGradGuard no_grad;
  for (const NamedTensor& item : state_dict(module)) {
    if (item.tensor.device() != device) item.tensor.set_data(item.tensor.to(device));
  }
}

void set_channels_last(torch::nn::Module& module) {
  const at::NoGradGuard no_grad;
  for (const NamedTensor& item : named_parameters(module)) {
    if (item.tensor.dim() == 4) {
      item.tensor.set_data(item.tensor.contiguous(at::MemoryFormat::ChannelsLast));
    }
  }
}

}  // namespace paceline::nn
