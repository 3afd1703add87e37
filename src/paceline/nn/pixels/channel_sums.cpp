#include "paceline/nn/pixels/channel_sums.h"

#include "paceline/tensor/intra_op.h"

#include <algorithm>
#include <array>
#include <type_traits>

namespace paceline::nn {
namespace {

constexpr std::int64_t kBlock = 32;    // channels
constexpr std::int64_t kStretch = 64;  // pixels whose sums are separate at first

struct Sums {
  std::array<float, kBlock> plain{};
  std::array<float, kBlock> products{};
};

/// Adds those of `pixels` pixels and a block of channels, whose number the compiler may know.
template <class Count>
void add_stretch(const float* x, const float* other, std::int64_t pixels, std::int64_t channels,
                 Count count, Sums& totals) {
  Sums sums;
  for (std::int64_t pixel = 0; pixel < pixels; ++pixel, x += channels, other += channels) {
    for (std::int64_t i = 0; i < count; ++i) {
      const auto place = static_cast<std::size_t>(i);
      sums.plain[place] += x[i];
      sums.products[place] += x[i] * other[i];
    }
  }
  for (std::size_t i = 0; i < kBlock; ++i) {
    totals.plain[i] += sums.plain[i];
    totals.products[i] += sums.products[i];
  }
}

Sums block_sums(const float* x, const float* other, std::int64_t pixels, std::int64_t channels,
                std::int64_t count) {
  Sums totals;
  for (std::int64_t first = 0; first < pixels; first += kStretch) {
    const std::int64_t stretch = std::min(kStretch, pixels - first);
    const std::int64_t offset = first * channels;
    if (count == kBlock) {
      add_stretch(x + offset, other + offset, stretch, channels,
                  std::integral_constant<std::int64_t, kBlock>(), totals);
    } else {
      add_stretch(x + offset, other + offset, stretch, channels, count, totals);
    }
  }
  return totals;
}

/// A vector loop where the compiler knows `count`.
template <class Count>
void scale_and_add(float* __restrict x, const float* __restrict scale,
                   const float* __restrict other, const float* __restrict other_scale,
                   Count count) {
  for (std::int64_t i = 0; i < count; ++i) x[i] = x[i] * scale[i] + other[i] * other_scale[i];
}

/// Float32 on the CPU; all else is LibTorch's.
bool has_kernel(const at::Tensor& x) { return x.is_cpu() && x.scalar_type() == at::kFloat; }

}  // namespace

ChannelSums channel_sums(const at::Tensor& x, const at::Tensor& other) {
  if (!has_kernel(x)) {
    const at::ScalarType type = x.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
    return {x.sum(1, /*keepdim=*/false, type), (x.to(type) * other.to(type)).sum(1)};
  }
  const std::int64_t pixels = x.size(1);
  const std::int64_t channels = x.size(2);
  const std::int64_t num_blocks = (channels + kBlock - 1) / kBlock;
  const ChannelSums sums{at::empty({x.size(0), channels}, x.options()),
                         at::empty({x.size(0), channels}, x.options())};
  const auto* const x_data = x.const_data_ptr<float>();
  const auto* const other_data = other.const_data_ptr<float>();
  auto* const plain = sums.plain.mutable_data_ptr<float>();
  auto* const products = sums.products.mutable_data_ptr<float>();
  tensor::run_intra_op(x.size(0) * num_blocks, [&](std::int64_t task) {
    const std::int64_t sample = task / num_blocks;
    const std::int64_t first = task % num_blocks * kBlock;
    const std::int64_t count = std::min(kBlock, channels - first);
    const std::int64_t offset = sample * pixels * channels + first;
    const Sums found = block_sums(x_data + offset, other_data + offset, pixels, channels, count);
    std::copy_n(found.plain.data(), count, plain + sample * channels + first);
    std::copy_n(found.products.data(), count, products + sample * channels + first);
  });
  return sums;
}

void scale_and_add(const at::Tensor& x, const at::Tensor& scale, const at::Tensor& other,
                   const at::Tensor& other_scale) {
  if (!has_kernel(x)) {
    x.copy_(x * scale.unsqueeze(1) + other * other_scale.unsqueeze(1));
    return;
  }
  const std::int64_t pixels = x.size(1);
  const std::int64_t channels = x.size(2);
  auto* const to = x.mutable_data_ptr<float>();
  const auto* const from = other.const_data_ptr<float>();
  const auto* const scales = scale.const_data_ptr<float>();
  const auto* const other_scales = other_scale.const_data_ptr<float>();
  const std::int64_t rows = x.size(0) * pixels;
  tensor::run_intra_op((rows + kStretch - 1) / kStretch, [&](std::int64_t task) {
    const std::int64_t end = std::min(rows, (task + 1) * kStretch);
    for (std::int64_t row = task * kStretch; row < end; ++row) {
      const float* const a = scales + row / pixels * channels;
      const float* const b = other_scales + row / pixels * channels;
      float* const target = to + row * channels;
      const float* const source = from + row * channels;
      std::int64_t i = 0;
      for (; i + kBlock <= channels; i += kBlock) {
        scale_and_add(target + i, a + i, source + i, b + i,
                      std::integral_constant<std::int64_t, kBlock>());
      }
      scale_and_add(target + i, a + i, source + i, b + i, channels - i);
    }
  });
}

}  // namespace paceline::nn
