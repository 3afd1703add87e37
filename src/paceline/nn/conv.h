#pragma once

#include "paceline/nn/image_size.h"
#include "paceline/nn/layer_costs.h"
#include "paceline/tensor/torch.h"

#include <cstdint>
#include <memory>
#include <utility>

namespace paceline::nn {

class Conv2d;

/// Computes a convolution in another way, as a method that changes networks wants it: parameters
/// and their names stay. Stateless.
class ConvMethod {
 public:
  virtual ~ConvMethod() = default;
  virtual at::Tensor forward(const Conv2d& conv, const at::Tensor& input) const = 0;
  /// Of forward(), counted as Conv2d::flops().
  virtual double flops(const Conv2d& conv, const ImageSize& input) const = 0;
};

/// Two-dimensional convolution with a square kernel, torch.nn.Conv2d's names: `weight`
/// [out, in / groups, kernel, kernel] and, if asked for, `bias` [out]. The weights start
/// uninitialised. factorize() makes the weight two factors (nn/factors/factors.h).
class Conv2d : public torch::nn::Module {
 public:
  struct Options {
    std::int64_t stride = 1;
    std::int64_t padding = 0;
    std::int64_t groups = 1;  ///< divides both numbers of channels; all of them: depthwise
    bool bias = false;
  };

  Conv2d(std::int64_t in_channels, std::int64_t out_channels, std::int64_t kernel_size,
         const Options& options);

  /// [N, in, H, W] to [N, out, H', W']; contiguous or channels-last, as the input is.
  at::Tensor forward(const at::Tensor& input) const {
    return method_ ? method_->forward(*this, input) : convolve(input, options_.stride);
  }
  /// The convolution without method(), with any stride; of two factors with its own.
  at::Tensor convolve(const at::Tensor& input, std::int64_t stride) const;
  /// Convolves by two factors from now on: to_latent() with the options of this one, without bias,
  /// to `latent` channels, and a 1x1 convolution to the outputs with a bias. `weight`, now the
  /// second factor's, and what else is new are without memory. Once, of a plain one without groups.
  void factorize(std::int64_t latent);
  /// The first factor; null if there are none.
  const std::shared_ptr<Conv2d>& to_latent() const { return to_latent_; }

  const Options& options() const { return options_; }
  std::int64_t in_channels() const { return in_channels_; }
  /// How forward() computes from now on; it takes the place of method(), which it may call.
  void set_method(std::shared_ptr<const ConvMethod> method) { method_ = std::move(method); }
  /// Null if it is convolve().
  const std::shared_ptr<const ConvMethod>& method() const { return method_; }
  /// Whether `weight` and `bias` say all that forward() computes.
  bool is_plain() const { return method_ == nullptr && to_latent_ == nullptr; }

  ImageSize output_size(const ImageSize& input) const {
    return output_size(input, options_.stride);
  }
  ImageSize output_size(const ImageSize& input, std::int64_t stride) const;
  /// Multiply-accumulate operations of forward() for one image, times two.
  double flops(const ImageSize& input) const {
    return method_ ? method_->flops(*this, input) : convolve_flops(input, options_.stride);
  }
  /// Counts that, a first factor's share for itself, and makes `size` the output's.
  void count(ImageSize& size, LayerCosts& costs) const;
  /// Those of convolve().
  double convolve_flops(const ImageSize& input, std::int64_t stride) const;

  at::Tensor weight;
  at::Tensor bias;  ///< undefined without Options::bias, unless it has factors

 private:
  std::int64_t in_channels_;
  std::int64_t kernel_size_;
  Options options_;
  std::shared_ptr<Conv2d> to_latent_;
  std::shared_ptr<const ConvMethod> method_;  ///< null: convolve()
};

}  // namespace paceline::nn
