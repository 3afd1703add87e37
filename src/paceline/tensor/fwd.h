#pragma once

// Names LibTorch's types without its headers; sources include tensor/aten.h or tensor/torch.h.

namespace at {
class Tensor;
}
namespace torch {
using at::Tensor;
namespace nn {
class Module;
}
}  // namespace torch
