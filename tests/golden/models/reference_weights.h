#pragma once

#include "paceline/nn/module_tree.h"
#include "paceline/tensor/torch.h"

#include <array>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

namespace paceline::models {

// The closed formulas of make_models.py: weights, images and labels from their indices.

inline constexpr std::uint32_t kImagesNumber = 1'000'003;
inline constexpr std::uint32_t kLabelsNumber = 1'000'004;
inline constexpr std::uint32_t kFirstProjection = 2'000'003;
inline constexpr std::uint32_t kFirstSample = 3'000'017;

inline std::uint32_t reference_word(std::uint32_t number, std::uint32_t index) {
  std::uint32_t x = index + 0x9E3779B9u * (number + 1u);
  x ^= x >> 16;
  x *= 0x7FEB352Du;
  x ^= x >> 15;
  x *= 0x846CA68Bu;
  return x ^ (x >> 16);
}

/// offset + scale * u with u uniform in [-0.5, 0.5), row-major, whatever the strides.
inline void fill_reference(const at::Tensor& tensor, std::uint32_t number, double scale,
                           double offset) {
  const at::Tensor values = at::empty(tensor.sizes(), at::kDouble);
  auto* out = values.mutable_data_ptr<double>();
  for (std::int64_t i = 0; i < values.numel(); ++i) {
    const double u = reference_word(number, static_cast<std::uint32_t>(i)) / 4294967296.0 - 0.5;
    out[i] = scale * u + offset;
  }
  const at::NoGradGuard no_grad;
  tensor.copy_(values);
}

inline void fill_reference_weights(const torch::nn::Module& module, double norm_bias) {
  std::uint32_t number = 0;
  for (const nn::NamedTensor& item : nn::state_dict(module)) {
    const at::Tensor& tensor = item.tensor;
    const bool is_bias = item.name.ends_with("bias");
    if (item.name.ends_with("num_batches_tracked")) {
      tensor.fill_(3);
    } else if (item.name.ends_with("running_var") ||
               (item.name.ends_with("weight") && tensor.dim() == 1)) {
      fill_reference(tensor, number, 0.5, 1.0);
    } else if (item.name.ends_with("running_mean") || is_bias) {
      const bool is_norm = is_bias && item.name.find("bn") != std::string::npos;
      fill_reference(tensor, number, 0.2, is_norm ? norm_bias : 0.0);
    } else if (item.name.ends_with("weight")) {
      const double gain = tensor.dim() == 4 ? 2.0 : 1.0;
      const auto fan_in = static_cast<double>(tensor.numel() / tensor.size(0));
      fill_reference(tensor, number, std::sqrt(12.0 * gain / fan_in), 0.0);
    } else {
      fill_reference(tensor, number, 0.4, 0.0);
    }
    ++number;
  }
}

/// Of a gradient or buffer, entry `number` of the state_dict: norm, weighted sum, two elements.
inline std::array<double, 4> reference_summary(const at::Tensor& tensor, std::uint32_t number) {
  const at::Tensor flat = tensor.detach().to(at::kDouble).reshape({-1});
  const at::Tensor weights = at::empty_like(flat);
  fill_reference(weights, kFirstProjection + number, std::sqrt(12.0), 0.0);
  const auto element = [&](std::uint32_t sample) {
    return flat[reference_word(kFirstSample + number, sample) % flat.numel()].item<double>();
  };
  return {flat.norm().item<double>(), flat.dot(weights).item<double>(), element(0), element(1)};
}

/// Of these sizes, [N, channels, height, width].
inline at::Tensor reference_images(at::IntArrayRef sizes, at::ScalarType dtype) {
  const at::Tensor images = at::empty(sizes, dtype);
  fill_reference(images, kImagesNumber, 4.0, 0.0);
  return images;
}

inline at::Tensor reference_images(std::int64_t batch, std::int64_t size, at::ScalarType dtype) {
  return reference_images({batch, 3, size, size}, dtype);
}

inline at::Tensor reference_labels(std::int64_t batch, std::int64_t num_classes) {
  const at::Tensor labels = at::empty({batch}, at::kLong);
  for (std::int64_t i = 0; i < batch; ++i) {
    labels[i] = reference_word(kLabelsNumber, static_cast<std::uint32_t>(i)) % num_classes;
  }
  return labels;
}

}  // namespace paceline::models
