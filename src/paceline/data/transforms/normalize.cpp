#include "paceline/data/transforms/normalize.h"

#include "paceline/data/transforms/normalize_row.h"
#include "paceline/data/transforms/transform.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

#include <hwy/cache_control.h>

namespace paceline::data {
namespace {

/// As vector code does it.
float normalized(const NormalizeLanes& lanes, std::size_t lane, float byte) {
  const float share =
      std::fma(byte, NormalizeLanes::kInverse255, byte * NormalizeLanes::kInverse255Rest);
  const float centered = share - lanes.mean[lane];
  const float inverse = lanes.inverse_deviation[lane];
  const float near = centered * inverse;
  return std::fma(std::fma(-near, lanes.deviation[lane], centered), inverse, near);
}

RowSink row_sink(const PixelSink& sink, ImageSize size, int y, bool flipped) {
  const bool is_planar = sink.layout == PixelLayout::kPlanar;
  const std::ptrdiff_t step = is_planar ? 1 : 3;
  const std::ptrdiff_t between_channels =
      is_planar ? std::ptrdiff_t{size.height} * size.width : std::ptrdiff_t{1};
  float* first =
      sink.pixels + step * (std::ptrdiff_t{y} * size.width + (flipped ? size.width - 1 : 0));
  return {{first, first + between_channels, first + 2 * between_channels}, flipped ? -step : step};
}

class Normalize final : public TransformOf<NormalizeConfig> {
 public:
  using TransformOf::TransformOf;
  /// It is no step of the plan: the pipeline has a table for it.
  ImageSize draw(ImageSize image, base::Philox&, Plan&) const override { return image; }
  TransformPlace place() const override { return TransformPlace::kNormalize; }
};

}  // namespace

float ErasingValues::next_normal() {
  if (second_) return *std::exchange(second_, std::nullopt);
  constexpr float kUnit = 0x1.0p-24f;
  const float share = static_cast<float>((draws_.next() >> 8) + 1) * kUnit;  // above 0
  const float turn = static_cast<float>(draws_.next() >> 8) * kUnit;
  const float radius = std::sqrt(-2.0f * std::log(share));
  const float angle = 2.0f * std::numbers::pi_v<float> * turn;
  second_ = radius * std::sin(angle);
  return radius * std::cos(angle);
}

void fill_box(PixelSink sink, ImageSize image, const EraseStep& step) {
  const Box& box = step.box;
  ErasingValues values(step);
  for (int y = box.top; y < box.bottom(); ++y) {
    const RowSink row = row_sink(sink, image, y, false);
    for (std::ptrdiff_t x = box.left; x < box.right(); ++x) {
      for (std::size_t channel = 0; channel < 3; ++channel) {
        row.channels[channel][x * row.step] = values.next(channel);
      }
    }
  }
}

NormalizeTable::NormalizeTable(const NormalizeConfig& config) {
  for (std::size_t lane = 0; lane < lanes_.mean.size(); ++lane) {
    lanes_.mean[lane] = static_cast<float>(config.mean[lane % 3]);
    lanes_.deviation[lane] = static_cast<float>(config.std[lane % 3]);
    lanes_.inverse_deviation[lane] = 1.0f / lanes_.deviation[lane];
  }
  for (std::size_t channel = 0; channel < 3; ++channel) {
    for (std::size_t byte = 0; byte < 256; ++byte) {
      const auto value = static_cast<float>(byte);
      values_[channel][byte] = (value / 255.0f - lanes_.mean[channel]) / lanes_.deviation[channel];
      lanes_are_exact_ &= normalized(lanes_, channel, value) == values_[channel][byte];
    }
  }
}

void NormalizeTable::write_pixels(const std::uint8_t* pixels, int count,
                                  const RowSink& sink) const {
  if (lanes_are_exact_ && normalize_row(pixels, count, lanes_, sink)) return;
  for (std::ptrdiff_t x = 0; x < count; ++x) {
    for (std::size_t channel = 0; channel < 3; ++channel) {
      sink.channels[channel][x * sink.step] = values_[channel][*pixels++];
    }
  }
}

void NormalizeTable::write(const PixelView& image, const Box& box, bool flipped,
                           PixelSink sink) const {
  const int begin = std::clamp(-box.left, 0, box.width);
  const int end = std::clamp(image.size.width - box.left, begin, box.width);
  for (int y = 0; y < box.height; ++y) {
    RowSink row = row_sink(sink, box.size(), y, flipped);
    const auto fill_black = [&](int from, int to) {
      for (int x = from; x < to; ++x) {
        for (std::size_t channel = 0; channel < 3; ++channel) {
          row.channels[channel][x * row.step] = values_[channel][0];
        }
      }
    };
    const int source_y = box.top + y;
    if (source_y < 0 || source_y >= image.size.height) {
      fill_black(0, box.width);
      continue;
    }
    fill_black(0, begin);
    fill_black(end, box.width);
    for (float*& channel : row.channels) channel += begin * row.step;
    row.is_whole = end - begin == box.width;
    write_pixels(image.row(source_y) + std::ptrdiff_t{3} * (box.left + begin), end - begin, row);
  }
  hwy::FlushStream();  // what normalize_row() wrote past the caches is there for all threads
}

std::unique_ptr<Transform> make(const NormalizeConfig& config) {
  return std::make_unique<Normalize>(config);
}

}  // namespace paceline::data
