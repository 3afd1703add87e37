#include "paceline/nn/activation.h"

#include "paceline/tensor/aten.h"

namespace paceline::nn {

at::Tensor activate(const at::Tensor& input, Activation activation) {
  switch (activation) {
    case Activation::kRelu:
      return at::relu(input);
    case Activation::kHardsigmoid:
      return at::hardsigmoid(input);
    case Activation::kHardswish:
      return at::hardswish(input);
    case Activation::kSigmoid:
      return at::sigmoid(input);
    case Activation::kSilu:
      return at::silu(input);
    case Activation::kNone:
      break;
  }
  return input;
}

}  // namespace paceline::nn
