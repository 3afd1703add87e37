#pragma once

#include "paceline/nn/image_size.h"
#include "paceline/nn/layer_costs.h"
#include "paceline/tensor/torch.h"

#include <cstdint>
#include <memory>
#include <utility>

namespace paceline::nn {

class MaxPool2d;

/// Computes a pool in another way. Shared between layers; stateless.
class MaxPoolMethod {
 public:
  virtual ~MaxPoolMethod() = default;
  virtual at::Tensor forward(const MaxPool2d& pool, const at::Tensor& input) const = 0;
  /// Of forward(), counted as MaxPool2d::flops().
  virtual double flops(const MaxPool2d& pool, std::int64_t channels,
                       const ImageSize& input) const = 0;
};

/// The largest value of each square window, torch.nn.MaxPool2d; it has no parameters.
class MaxPool2d : public torch::nn::Module {
 public:
  struct Options {
    std::int64_t kernel_size = 2;
    std::int64_t stride = 2;
    std::int64_t padding = 0;  ///< with values that are never the largest
  };

  explicit MaxPool2d(const Options& options) : options_(options) {}

  /// [N, C, H, W] to [N, C, H', W'].
  at::Tensor forward(const at::Tensor& input) const {
    return method_ ? method_->forward(*this, input) : pool(input, options_.stride);
  }
  /// The plain pool, with any stride.
  at::Tensor pool(const at::Tensor& input, std::int64_t stride) const {
    const auto& [kernel_size, own_stride, padding] = options_;
    return at::max_pool2d(input, {kernel_size, kernel_size}, {stride, stride}, {padding, padding});
  }

  const Options& options() const { return options_; }
  ImageSize output_size(const ImageSize& input) const {
    return output_size(input, options_.stride);
  }
  ImageSize output_size(const ImageSize& input, std::int64_t stride) const {
    const auto length = [&](std::int64_t size) {
      return (size + 2 * options_.padding - options_.kernel_size) / stride + 1;
    };
    return {length(input.height), length(input.width)};
  }
  /// Multiply-accumulate operations of forward() for one image, times two: comparing is none.
  double flops(std::int64_t channels, const ImageSize& input) const {
    return method_ ? method_->flops(*this, channels, input) : 0;
  }
  /// Counts that if it is any, and makes `size` the output's.
  void count(std::int64_t channels, ImageSize& size, LayerCosts& costs) const {
    const double total = flops(channels, size);
    size = output_size(size);
    if (total > 0) costs.add(*this, total, {channels, size.height, size.width});
  }
  /// How forward() computes from now on; another one takes its place.
  void set_method(std::shared_ptr<const MaxPoolMethod> method) { method_ = std::move(method); }
  bool has_method() const { return method_ != nullptr; }

 private:
  Options options_;
  std::shared_ptr<const MaxPoolMethod> method_;  ///< null: the plain one
};

}  // namespace paceline::nn
