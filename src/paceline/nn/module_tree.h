#pragma once

#include "paceline/tensor/torch.h"

#include <string>
#include <vector>

namespace paceline::nn {

/// A parameter or buffer of a module tree; `tensor` is the module's own, not a copy.
struct NamedTensor {
  std::string name;  ///< "layer1.0.conv1.weight"
  at::Tensor tensor;
  bool is_parameter = true;
};

/// All parameters and buffers in the order of Python's state_dict(): each module's parameters, its
/// buffers, then its children, all in registration order.
std::vector<NamedTensor> state_dict(const torch::nn::Module& module);

/// The parameters of state_dict(), in the same order.
std::vector<NamedTensor> named_parameters(const torch::nn::Module& module);

/// Frees the memory of all parameters, whose values are lost. A strategy's prepare() gives them
/// memory when their turn comes, so that a model need not fit into one rank's.
void defer_values(torch::nn::Module& module);

/// Training or evaluation mode for the whole tree.
void set_training(torch::nn::Module& module, bool training);

/// Converts floating parameters and buffers; integer buffers stay (Module::to would convert them).
/// Breaks views, so call it before a strategy lays the module out. Parameters without memory stay
/// so.
void set_dtype(torch::nn::Module& module, at::ScalarType dtype);

/// Moves parameters and buffers; strides stay. Breaks views, as set_dtype.
void set_device(torch::nn::Module& module, at::Device device);

/// Gives every four-dimensional parameter channels-last strides, which makes convolutions of
/// channels-last images run in that layout. Breaks views, as set_dtype.
void set_channels_last(torch::nn::Module& module);

}  // namespace paceline::nn
