#include "paceline/data/transforms/kernels/point_tables.h"

#include <algorithm>
#include <numeric>

namespace paceline::data {
namespace {

template <class Change>
ByteTable table_of(Change change) {
  ByteTable table;
  for (int byte = 0; byte < 256; ++byte) {
    table[static_cast<std::size_t>(byte)] = static_cast<std::uint8_t>(change(byte));
  }
  return table;
}

ByteTable stretch_table(const ChannelRange& range) {
  if (range.highest <= range.lowest) return table_of([](int byte) { return byte; });
  // The order of the operations is Pillow's: another one rounds differently.
  const double scale = 255.0 / (range.highest - range.lowest);
  const double offset = -range.lowest * scale;
  return table_of(
      [&](int byte) { return static_cast<int>(std::clamp(byte * scale + offset, 0.0, 255.0)); });
}

ByteTable equalize_table(const Histogram& histogram) {
  const auto highest =
      std::find_if(histogram.rbegin(), histogram.rend(), [](auto count) { return count != 0; });
  const std::uint32_t total = std::accumulate(histogram.begin(), histogram.end(), 0u);
  // A channel of one colour has a step of 0, too.
  const std::uint32_t step = (total - (highest == histogram.rend() ? 0 : *highest)) / 255;
  if (step == 0) return table_of([](int byte) { return byte; });
  std::uint32_t reached = step / 2;
  return table_of([&](int byte) {
    const std::uint32_t level = std::min(reached / step, 255u);
    reached += histogram[static_cast<std::size_t>(byte)];
    return level;
  });
}

}  // namespace

ByteTable blend_table(int degenerate, float factor) {
  return table_of([&](int byte) {
    const float mixed =
        static_cast<float>(degenerate) + factor * static_cast<float>(byte - degenerate);
    return std::clamp(mixed, 0.0f, 255.0f);
  });
}

ByteTable posterize_table(int bits) {
  return table_of([&](int byte) { return byte & (0xFF00 >> bits); });
}

ByteTable solarize_table(double threshold) {
  return table_of([&](int byte) { return byte < threshold ? byte : 255 - byte; });
}

ByteTable solarize_add_table(int amount, int threshold) {
  return table_of([&](int byte) { return byte < threshold ? std::min(byte + amount, 255) : byte; });
}

ByteTable invert_table() {
  return table_of([](int byte) { return 255 - byte; });
}

PointTables autocontrast_tables(const ChannelRanges& ranges) {
  return {stretch_table(ranges[0]), stretch_table(ranges[1]), stretch_table(ranges[2])};
}

PointTables equalize_tables(const ChannelHistograms& histograms) {
  return {equalize_table(histograms[0]), equalize_table(histograms[1]),
          equalize_table(histograms[2])};
}

PointTables identity_tables() {
  const ByteTable identity = table_of([](int byte) { return byte; });
  return {identity, identity, identity};
}

void append(PointTables& tables, const PointTables& next) {
  for (std::size_t channel = 0; channel < 3; ++channel) {
    for (std::uint8_t& byte : tables[channel]) byte = next[channel][byte];
  }
}

void append(PointTables& tables, const ByteTable& next) {
  append(tables, PointTables{next, next, next});
}

void apply_tables_scalar(const PixelView& source, const PointTables& tables, std::uint8_t* target,
                         std::ptrdiff_t stride) {
  for (int y = 0; y < source.size.height; ++y) {
    const std::uint8_t* from = source.row(y);
    std::uint8_t* to = target + y * stride;
    for (int x = 0; x < source.size.width; ++x, from += 3, to += 3) {
      for (std::size_t channel = 0; channel < 3; ++channel) {
        to[channel] = tables[channel][from[channel]];
      }
    }
  }
}

}  // namespace paceline::data
