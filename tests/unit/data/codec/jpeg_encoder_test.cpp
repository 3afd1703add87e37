#include "paceline/data/codec/jpeg_encoder.h"

#include "paceline/base/error.h"
#include "paceline/data/codec/jpeg_decoder.h"

#include <cstdlib>

#include <gtest/gtest.h>

namespace paceline::data {
namespace {

TEST(JpegEncoder, GivesFilesThatDecodeToNearlyThePixels) {
  constexpr ImageSize kSize{24, 40};
  constexpr std::ptrdiff_t kStride = 3 * 48;  // rows with something behind them
  std::vector<std::uint8_t> pixels(kStride * kSize.height, 255);
  for (int y = 0; y < kSize.height; ++y) {
    for (int x = 0; x < kSize.width; ++x) {
      std::uint8_t* const pixel = pixels.data() + kStride * y + 3 * x;
      pixel[0] = static_cast<std::uint8_t>(4 * x);
      pixel[1] = static_cast<std::uint8_t>(8 * y);
      pixel[2] = 100;
    }
  }
  const auto file = encode_jpeg({pixels.data(), kSize, kStride}, 95);
  JpegDecoder decoder;
  PixelBuffer buffer;
  ASSERT_EQ(decoder.open(file), kSize);
  const PixelView decoded = decoder.decode(whole(kSize), buffer);
  for (int y = 0; y < kSize.height; ++y) {
    for (int x = 0; x < 3 * kSize.width; ++x)
      ASSERT_NEAR(decoded.row(y)[x], pixels[static_cast<std::size_t>(kStride * y + x)], 8) << y;
  }
  EXPECT_GT(file.size(), encode_jpeg({pixels.data(), kSize, kStride}, 20).size());
}

TEST(JpegEncoder, AnImageWithoutPixelsIsNone) {
  EXPECT_THROW(encode_jpeg({nullptr, {0, 4}, 12}, 90), base::InternalError);
}

}  // namespace
}  // namespace paceline::data
