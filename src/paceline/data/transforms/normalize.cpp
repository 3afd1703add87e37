#include "paceline/data/transforms/normalize.h"

#include <algorithm>

namespace paceline::data {
namespace {

/// The three channels of one row of the target, in the order in which its pixels are written.
struct RowSink {
  float* channels[3];
  std::ptrdiff_t step;
};

RowSink row_sink(const PixelSink& sink, ImageSize size, int y, bool flipped) {
  const bool is_planar = sink.layout == PixelLayout::kPlanar;
  const std::ptrdiff_t step = is_planar ? 1 : 3;
  const std::ptrdiff_t between_channels =
      is_planar ? std::ptrdiff_t{size.height} * size.width : std::ptrdiff_t{1};
  float* first =
      sink.pixels + step * (std::ptrdiff_t{y} * size.width + (flipped ? size.width - 1 : 0));
  return {{first, first + between_channels, first + 2 * between_channels}, flipped ? -step : step};
}

}  // namespace

void fill_box(PixelSink sink, ImageSize image, const Box& box, const std::array<float, 3>& value) {
  for (int y = box.top; y < box.bottom(); ++y) {
    const RowSink row = row_sink(sink, image, y, false);
    for (std::ptrdiff_t x = box.left; x < box.right(); ++x) {
      for (std::size_t channel = 0; channel < 3; ++channel) {
        row.channels[channel][x * row.step] = value[channel];
      }
    }
  }
}

NormalizeTable::NormalizeTable(const NormalizeConfig& config) {
  for (std::size_t channel = 0; channel < 3; ++channel) {
    const auto mean = static_cast<float>(config.mean[channel]);
    const auto deviation = static_cast<float>(config.std[channel]);
    for (std::size_t byte = 0; byte < 256; ++byte) {
      values_[channel][byte] = (static_cast<float>(byte) / 255.0f - mean) / deviation;
    }
  }
}

void NormalizeTable::write(const PixelView& image, const Box& box, bool flipped,
                           PixelSink sink) const {
  const int begin = std::clamp(-box.left, 0, box.width);
  const int end = std::clamp(image.size.width - box.left, begin, box.width);
  for (int y = 0; y < box.height; ++y) {
    const RowSink row = row_sink(sink, box.size(), y, flipped);
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
    const std::uint8_t* pixel = image.row(source_y) + std::ptrdiff_t{3} * (box.left + begin);
    for (int x = begin; x < end; ++x, pixel += 3) {
      const std::ptrdiff_t offset = x * row.step;
      row.channels[0][offset] = values_[0][pixel[0]];
      row.channels[1][offset] = values_[1][pixel[1]];
      row.channels[2][offset] = values_[2][pixel[2]];
    }
    fill_black(end, box.width);
  }
}

}  // namespace paceline::data
