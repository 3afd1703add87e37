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

constexpr std::int64_t kMargin = kDepthwiseKernel / 2;
constexpr std::int64_t kStrip = 4;  // gradients that are held in registers at once

/// A block of channels of the rows that the kernel sees, with margins of zeros.
class DepthwiseRows {
 public:
  DepthwiseRows(const PixelGrid& grid, std::int64_t first_channel)
      : grid_(grid),
        first_(first_channel),
        count_(static_cast<std::size_t>(std::min(grid.channels - first_channel, lanes()))),
        width_((grid.width + kStrip - 1) / kStrip * kStrip),
        inputs_(hwy::AllocateAligned<float>(size(kDepthwiseKernel * (width_ + 2 * kMargin)))),
        grads_(hwy::AllocateAligned<float>(size(width_))) {
    std::fill_n(inputs_.get(), size(kDepthwiseKernel * (width_ + 2 * kMargin)), 0.0f);
    std::fill_n(grads_.get(), size(width_), 0.0f);
  }

  static std::int64_t lanes() { return static_cast<std::int64_t>(hn::MaxLanes(DepthwiseTag())); }

  std::size_t count() const { return count_; }
  std::int64_t width() const { return width_; }
  /// Place `-kMargin` of the input's row.
  float* input(std::int64_t row) const {
    return inputs_.get() + row % kDepthwiseKernel * (width_ + 2 * kMargin) * lanes();
  }
  float* grads() const { return grads_.get(); }

  void load(const float* plane, std::int64_t row, float* target) const {
    const DepthwiseTag tag;
    const auto mask = hn::FirstN(tag, count_);
    const float* from = plane + row * grid_.width * grid_.channels + first_;
    for (std::int64_t x = 0; x < grid_.width; ++x, from += grid_.channels, target += lanes())
      hn::Store(hn::MaskedLoad(mask, tag, from), tag, target);
  }
  void load_input(const float* plane, std::int64_t row) const {
    if (row < grid_.height) load(plane, row, input(row) + kMargin * lanes());
  }

 private:
  std::size_t size(std::int64_t pixels) const { return static_cast<std::size_t>(pixels * lanes()); }

  PixelGrid grid_;
  std::int64_t first_;
  std::size_t count_;
  std::int64_t width_;
  hwy::AlignedFreeUniquePtr<float[]> inputs_;
  hwy::AlignedFreeUniquePtr<float[]> grads_;
};

/// Adds to the seven sums what one row of gradients gives with one row of the input.
HWY_INLINE void add_row(const float* grad, const float* input, std::int64_t width, float* sums) {
  const DepthwiseTag tag;
  constexpr std::size_t kLanes = hn::MaxLanes(DepthwiseTag());
  DepthwiseVector s0 = hn::Zero(tag), s1 = s0, s2 = s0, s3 = s0, s4 = s0, s5 = s0, s6 = s0;
  for (std::int64_t x = 0; x < width; x += kStrip) {
    for (std::size_t i = 0; i < kStrip; ++i, grad += kLanes, input += kLanes) {
      const DepthwiseVector g = hn::Load(tag, grad);
      s0 = hn::MulAdd(g, hn::Load(tag, input), s0);
      s1 = hn::MulAdd(g, hn::Load(tag, input + kLanes), s1);
      s2 = hn::MulAdd(g, hn::Load(tag, input + 2 * kLanes), s2);
      s3 = hn::MulAdd(g, hn::Load(tag, input + 3 * kLanes), s3);
      s4 = hn::MulAdd(g, hn::Load(tag, input + 4 * kLanes), s4);
      s5 = hn::MulAdd(g, hn::Load(tag, input + 5 * kLanes), s5);
      s6 = hn::MulAdd(g, hn::Load(tag, input + 6 * kLanes), s6);
    }
  }
  const auto add = [&](std::size_t place, DepthwiseVector sum) HWY_ATTR {
    hn::Store(hn::Add(hn::Load(tag, sums + place * kLanes), sum), tag, sums + place * kLanes);
  };
  add(0, s0);
  add(1, s1);
  add(2, s2);
  add(3, s3);
  add(4, s4);
  add(5, s5);
  add(6, s6);
}

void depthwise_sums_vectorised(const float* grad, const float* input, const PixelGrid& grid,
                               std::int64_t first_channel, float* sums) {
  const DepthwiseTag tag;
  const std::int64_t lanes = DepthwiseRows::lanes();
  const DepthwiseRows rows(grid, first_channel);
  alignas(64) std::array<float, kDepthwiseSums * hn::MaxLanes(DepthwiseTag())> totals{};
  for (std::int64_t sample = 0; sample < grid.samples; ++sample) {
    const std::int64_t offset = sample * grid.height * grid.width * grid.channels;
    for (std::int64_t y = 0; y < kMargin; ++y) rows.load_input(input + offset, y);
    for (std::int64_t y = 0; y < grid.height; ++y) {
      rows.load_input(input + offset, y + kMargin);
      rows.load(grad + offset, y, rows.grads());
      const std::int64_t end = std::min(grid.height, y + kMargin + 1);
      for (std::int64_t row = std::max<std::int64_t>(0, y - kMargin); row < end; ++row) {
        const std::int64_t place = (row - y + kMargin) * kDepthwiseKernel;
        add_row(rows.grads(), rows.input(row), rows.width(), totals.data() + place * lanes);
      }
      DepthwiseVector sum = hn::Zero(tag);
      for (std::int64_t x = 0; x < grid.width; ++x)
        sum = hn::Add(sum, hn::Load(tag, rows.grads() + x * lanes));
      float* const total = totals.data() + (kDepthwiseSums - 1) * lanes;
      hn::Store(hn::Add(hn::Load(tag, total), sum), tag, total);
    }
  }
  for (std::int64_t i = 0; i < kDepthwiseSums; ++i) {
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
                    std::int64_t first_channel, float* sums) {
  HWY_DYNAMIC_DISPATCH(depthwise_sums_vectorised)(grad, input, grid, first_channel, sums);
}

}  // namespace paceline::nn
#endif
