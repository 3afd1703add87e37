// depthwise_sums.h in vector code, compiled for several instruction sets by Highway; the best one
// that the processor has is chosen at run time. A vector's lanes are channels, so every instruction
// set gives the same sums.
#include "paceline/nn/pixels/depthwise_sums.h"

#include <algorithm>
#include <array>
#include <cstddef>

#undef HWY_BASELINE_TARGETS
#define HWY_BASELINE_TARGETS HWY_AVX2  // the floor of all of paceline
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "paceline/nn/pixels/depthwise_sums_simd.cpp"
#include <hwy/aligned_allocator.h>
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace paceline::nn {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using DepthwiseTag = hn::ScalableTag<float>;
using DepthwiseVector = hn::Vec<DepthwiseTag>;

constexpr std::int64_t kStrip = 4;  // gradients that are held in registers at once

/// A block of channels of the rows that the kernel sees, with margins of zeros.
class DepthwiseRows {
 public:
  DepthwiseRows(const PixelGrid& grid, const DepthwiseKernel& kernel, std::int64_t first_channel)
      : grid_(grid),
        kernel_(kernel),
        first_(first_channel),
        count_(static_cast<std::size_t>(std::min(grid.channels - first_channel, lanes()))),
        grad_width_(kernel.output_length(grid.width)),
        width_((grad_width_ + kStrip - 1) / kStrip * kStrip),
        input_width_(std::max(grid.width, width_ * kernel.stride) + kernel.size),
        inputs_(hwy::AllocateAligned<float>(size(kernel.size * input_width_))),
        grads_(hwy::AllocateAligned<float>(size(width_))) {
    std::fill_n(inputs_.get(), size(kernel.size * input_width_), 0.0f);
    std::fill_n(grads_.get(), size(width_), 0.0f);
  }

  static std::int64_t lanes() { return static_cast<std::int64_t>(hn::MaxLanes(DepthwiseTag())); }

  std::size_t count() const { return count_; }
  /// Of a row of gradients, and with zeros behind them.
  std::int64_t grad_width() const { return grad_width_; }
  std::int64_t width() const { return width_; }
  std::int64_t margin() const { return kernel_.size / 2; }
  /// Place `-margin()` of the input's row.
  float* input(std::int64_t row) const {
    return inputs_.get() + row % kernel_.size * input_width_ * lanes();
  }
  float* grads() const { return grads_.get(); }

  void load_grads(const float* plane, std::int64_t row) const {
    load(plane + row * grad_width_ * grid_.channels, grad_width_, grads());
  }
  void load_input(const float* plane, std::int64_t row) const {
    load(plane + row * grid_.width * grid_.channels, grid_.width, input(row) + margin() * lanes());
  }

 private:
  std::size_t size(std::int64_t pixels) const { return static_cast<std::size_t>(pixels * lanes()); }
  void load(const float* from, std::int64_t pixels, float* target) const {
    const DepthwiseTag tag;
    const auto mask = hn::FirstN(tag, count_);
    from += first_;
    for (std::int64_t x = 0; x < pixels; ++x, from += grid_.channels, target += lanes())
      hn::Store(hn::MaskedLoad(mask, tag, from), tag, target);
  }

  PixelGrid grid_;
  DepthwiseKernel kernel_;
  std::int64_t first_;
  std::size_t count_;
  std::int64_t grad_width_;
  std::int64_t width_;
  std::int64_t input_width_;
  hwy::AlignedFreeUniquePtr<float[]> inputs_;
  hwy::AlignedFreeUniquePtr<float[]> grads_;
};

/// Adds to the sums of a kernel's row what one row of gradients gives with one row of the input.
template <std::int64_t kSize, std::int64_t kStride>
HWY_INLINE void add_row(const float* grad, const float* input, std::int64_t width, float* sums) {
  const DepthwiseTag tag;
  constexpr std::size_t kLanes = hn::MaxLanes(DepthwiseTag());
  DepthwiseVector s0 = hn::Zero(tag), s1 = s0, s2 = s0, s3 = s0, s4 = s0, s5 = s0, s6 = s0;
  for (std::int64_t x = 0; x < width; x += kStrip) {
    for (std::size_t i = 0; i < kStrip; ++i, grad += kLanes, input += kStride * kLanes) {
      const DepthwiseVector g = hn::Load(tag, grad);
      s0 = hn::MulAdd(g, hn::Load(tag, input), s0);
      s1 = hn::MulAdd(g, hn::Load(tag, input + kLanes), s1);
      s2 = hn::MulAdd(g, hn::Load(tag, input + 2 * kLanes), s2);
      if constexpr (kSize > 3) {
        s3 = hn::MulAdd(g, hn::Load(tag, input + 3 * kLanes), s3);
        s4 = hn::MulAdd(g, hn::Load(tag, input + 4 * kLanes), s4);
      }
      if constexpr (kSize > 5) {
        s5 = hn::MulAdd(g, hn::Load(tag, input + 5 * kLanes), s5);
        s6 = hn::MulAdd(g, hn::Load(tag, input + 6 * kLanes), s6);
      }
    }
  }
  const auto add = [&](std::size_t place, DepthwiseVector sum) HWY_ATTR {
    hn::Store(hn::Add(hn::Load(tag, sums + place * kLanes), sum), tag, sums + place * kLanes);
  };
  add(0, s0);
  add(1, s1);
  add(2, s2);
  if constexpr (kSize > 3) {
    add(3, s3);
    add(4, s4);
  }
  if constexpr (kSize > 5) {
    add(5, s5);
    add(6, s6);
  }
}

/// Adds what a row of gradients gives, whose kernels' centres are in row `centre` of the input.
template <std::int64_t kSize, std::int64_t kStride>
void add_rows(const DepthwiseRows& rows, std::int64_t centre, std::int64_t height, float* totals) {
  const DepthwiseTag tag;
  const std::int64_t lanes = DepthwiseRows::lanes();
  constexpr std::int64_t kMargin = kSize / 2;
  const std::int64_t end = std::min(height, centre + kMargin + 1);
  for (std::int64_t row = std::max<std::int64_t>(0, centre - kMargin); row < end; ++row) {
    add_row<kSize, kStride>(rows.grads(), rows.input(row), rows.width(),
                            totals + (row - centre + kMargin) * kSize * lanes);
  }
  float* const total = totals + kSize * kSize * lanes;
  DepthwiseVector sum = hn::Zero(tag);
  for (std::int64_t x = 0; x < rows.grad_width(); ++x)
    sum = hn::Add(sum, hn::Load(tag, rows.grads() + x * lanes));
  hn::Store(hn::Add(hn::Load(tag, total), sum), tag, total);
}

template <std::int64_t kSize, std::int64_t kStride>
void add_samples(const float* grad, const float* input, const PixelGrid& grid,
                 const DepthwiseRows& rows, float* totals) {
  const std::int64_t out_height = (grid.height - 1) / kStride + 1;
  for (std::int64_t sample = 0; sample < grid.samples; ++sample) {
    std::int64_t num_loaded = 0;
    for (std::int64_t y = 0; y < out_height; ++y) {
      const std::int64_t end = std::min(grid.height, y * kStride + kSize / 2 + 1);
      for (; num_loaded < end; ++num_loaded) rows.load_input(input, num_loaded);
      rows.load_grads(grad, y);
      add_rows<kSize, kStride>(rows, y * kStride, grid.height, totals);
    }
    input += grid.height * grid.width * grid.channels;
    grad += out_height * rows.grad_width() * grid.channels;
  }
}

template <std::int64_t kSize>
void add_samples_by(const float* grad, const float* input, const PixelGrid& grid,
                    std::int64_t stride, const DepthwiseRows& rows, float* totals) {
  stride == 1 ? add_samples<kSize, 1>(grad, input, grid, rows, totals)
              : add_samples<kSize, 2>(grad, input, grid, rows, totals);
}

void depthwise_sums_vectorised(const float* grad, const float* input, const PixelGrid& grid,
                               const DepthwiseKernel& kernel, std::int64_t first_channel,
                               float* sums) {
  const DepthwiseTag tag;
  const std::int64_t lanes = DepthwiseRows::lanes();
  const DepthwiseRows rows(grid, kernel, first_channel);
  constexpr std::size_t kMostSums = 7 * 7 + 1;
  alignas(64) std::array<float, kMostSums * hn::MaxLanes(DepthwiseTag())> totals{};
  const auto add = kernel.size == 3   ? add_samples_by<3>
                   : kernel.size == 5 ? add_samples_by<5>
                                      : add_samples_by<7>;
  add(grad, input, grid, kernel.stride, rows, totals.data());
  for (std::int64_t i = 0; i < kernel.num_sums(); ++i) {
    hn::BlendedStore(hn::Load(tag, totals.data() + i * lanes), hn::FirstN(tag, rows.count()), tag,
                     sums + i * grid.channels + first_channel);
  }
}

std::int64_t depthwise_lanes() { return DepthwiseRows::lanes(); }

}  // namespace HWY_NAMESPACE
}  // namespace paceline::nn
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace paceline::nn {

HWY_EXPORT(depthwise_sums_vectorised);
HWY_EXPORT(depthwise_lanes);

std::int64_t depthwise_block() { return HWY_DYNAMIC_DISPATCH(depthwise_lanes)(); }

void depthwise_sums(const float* grad, const float* input, const PixelGrid& grid,
                    const DepthwiseKernel& kernel, std::int64_t first_channel, float* sums) {
  HWY_DYNAMIC_DISPATCH(depthwise_sums_vectorised)(grad, input, grid, kernel, first_channel, sums);
}

}  // namespace paceline::nn
#endif
