#include "paceline/nn/blocks/folded_conv.h"

namespace paceline::nn {
namespace {

using Sizes = at::IntArrayRef;
using Scalars = c10::List<std::optional<at::Scalar>>;
using Pointwise = at::Tensor(const at::Tensor&, const at::Tensor&, const std::optional<at::Tensor>&,
                             Sizes, Sizes, Sizes, std::int64_t, std::string_view, Scalars,
                             std::optional<std::string_view>);
using Binary = at::Tensor(const at::Tensor&, const at::Tensor&, const at::Tensor&,
                          const std::optional<at::Tensor>&, Sizes, Sizes, Sizes, std::int64_t,
                          std::string_view, std::optional<at::Scalar>,
                          std::optional<std::string_view>, Scalars,
                          std::optional<std::string_view>);

constexpr std::array<std::int64_t, 2> kNoDilation{1, 1};

/// oneDNN's convolution with what follows it, which ATen gives no C++ function.
template <typename Signature>
auto onednn(const char* overload) {
  return c10::Dispatcher::singleton()
      .findSchemaOrThrow("mkldnn::_convolution_pointwise", overload)
      .typed<Signature>();
}

}  // namespace

FoldedConv::FoldedConv(const Conv2d& conv, const BatchNorm2d& norm, at::ScalarType dtype)
    : stride_{conv.options().stride, conv.options().stride},
      padding_{conv.options().padding, conv.options().padding},
      groups_(conv.options().groups) {
  const at::NoGradGuard no_grad;
  const at::Tensor scale =
      norm.weight.to(at::kDouble) / (norm.running_var.to(at::kDouble) + norm.eps()).sqrt();
  const at::Tensor weight = conv.weight.to(at::kDouble) * scale.view({-1, 1, 1, 1});
  at::Tensor shift = norm.bias.to(at::kDouble) - norm.running_mean.to(at::kDouble) * scale;
  if (conv.bias.defined()) shift += conv.bias.to(at::kDouble) * scale;
  weight_ = weight.to(dtype).contiguous(conv.weight.suggest_memory_format());
  bias_ = shift.to(dtype);
}

at::Tensor FoldedConv::run(const at::Tensor& input, std::string_view activation) const {
  static const auto convolve = onednn<Pointwise>("");
  return convolve.call(input.to(weight_.scalar_type()), weight_, bias_, padding_, stride_,
                       kNoDilation, groups_, activation, Scalars(), std::nullopt);
}

at::Tensor FoldedConv::forward_add_relu(const at::Tensor& input, const at::Tensor& added) const {
  // The operator adds to groups by a function that knows float32 alone, and mistakes the layout of
  // an output with one channel or one pixel.
  const bool is_any_layout = added.size(1) == 1 || added.size(2) * added.size(3) == 1;
  if (groups_ > 1 || is_any_layout) {
    at::Tensor output = forward(input).add_(added);
    return at::relu_(output);
  }
  static const auto convolve = onednn<Binary>("binary");
  return convolve.call(input.to(weight_.scalar_type()), added.to(weight_.scalar_type()), weight_,
                       bias_, padding_, stride_, kNoDilation, groups_, "add", at::Scalar(1.0),
                       "relu", Scalars(), std::nullopt);
}

int fold_norms(torch::nn::Module& module, at::ScalarType dtype) {
  int count = 0;
  module.apply([&](torch::nn::Module& below) {
    if (auto* const folds = dynamic_cast<FoldsNorms*>(&below)) {
      folds->fold_norms(dtype);
      ++count;
    }
  });
  return count;
}

}  // namespace paceline::nn
