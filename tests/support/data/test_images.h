#pragma once

#include "paceline/data/dataset/dataset.h"
#include "paceline/data/image/pixels.h"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace paceline::data {

inline std::vector<std::uint8_t> read_bytes(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  EXPECT_TRUE(file.good()) << path;
  return {std::istreambuf_iterator<char>(file), {}};
}

/// The bytes of a picture of tests/golden/data/transforms/images.
inline std::vector<std::uint8_t> golden_image(const std::string& name) {
  return read_bytes(std::filesystem::path(PACELINE_SOURCE_DIR) /
                    "tests/golden/data/transforms/images" / name);
}

/// The bytes of a picture of tests/golden/data/codec/other_formats.
inline std::vector<std::uint8_t> other_format(const std::string& name) {
  return read_bytes(std::filesystem::path(PACELINE_SOURCE_DIR) /
                    "tests/golden/data/codec/other_formats" / name);
}

/// Random pixels with SIMD's room behind them.
struct NoiseImage {
  PixelBuffer buffer;
  PixelView view;

  NoiseImage(ImageSize size, unsigned seed) {
    const std::size_t stride = static_cast<std::size_t>(3 * size.width);
    const std::size_t count = stride * static_cast<std::size_t>(size.height);
    std::uint8_t* pixels = buffer.reserve(count);
    std::mt19937 random(seed);
    // Many extremes, so that clamping and rounding at the ends are met.
    for (std::size_t i = 0; i < count; ++i) {
      const unsigned value = random() % 512;
      pixels[i] = static_cast<std::uint8_t>(value < 256 ? value : value < 384 ? 0 : 255);
    }
    view = {pixels, size, static_cast<std::ptrdiff_t>(stride)};
  }
};

/// An image of these bytes with SIMD's room behind them.
struct PaddedImage {
  PixelBuffer buffer;
  PixelView view;

  PaddedImage(const std::vector<std::uint8_t>& bytes, ImageSize size) {
    std::uint8_t* pixels = buffer.reserve(bytes.size());
    std::copy(bytes.begin(), bytes.end(), pixels);
    view = {pixels, size, std::ptrdiff_t{3} * size.width};
  }
};

inline StoredSample raw_sample(const PixelView& image) {
  StoredSample sample;
  sample.width = image.size.width;
  sample.height = image.size.height;
  for (int y = 0; y < image.size.height; ++y) {
    sample.bytes.insert(sample.bytes.end(), image.row(y), image.row(y) + 3 * image.size.width);
  }
  return sample;
}

inline StoredSample encoded_sample(const std::string& name) {
  StoredSample sample;
  sample.bytes = golden_image(name);
  return sample;
}

inline Box random_box(ImageSize size, std::mt19937& random) {
  const auto below = [&](int bound) {
    return static_cast<int>(random() % static_cast<unsigned>(bound));
  };
  Box box;
  box.height = 1 + below(size.height);
  box.width = 1 + below(size.width);
  box.top = below(size.height - box.height + 1);
  box.left = below(size.width - box.width + 1);
  return box;
}

/// The pixels without what may stand between rows.
inline std::vector<std::uint8_t> packed(const PixelView& view) { return raw_sample(view).bytes; }

/// The pixels that operation(source, target, stride) makes of an image.
template <class Operation>
std::vector<std::uint8_t> result_of(const PixelView& source, Operation operation) {
  PixelBuffer buffer;
  const std::ptrdiff_t stride = std::ptrdiff_t{3} * source.size.width;
  buffer.reserve(static_cast<std::size_t>(stride * source.size.height));
  operation(source, buffer.data(), stride);
  return packed({buffer.data(), source.size, stride});
}

}  // namespace paceline::data
