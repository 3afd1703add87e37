#include "paceline/data/codec/png_decoder.h"

#include "paceline/base/error.h"
#include "support/data/test_images.h"

#include <gmock/gmock.h>

namespace paceline::data {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

TEST(PngDecoder, ReadsTheSizeFromTheHeader) {
  EXPECT_EQ(read_png_size(golden_image("rgb.png")), (ImageSize{19, 23}));
  EXPECT_EQ(read_png_size(golden_image("rgba16.png")), (ImageSize{9, 7}));
}

TEST(PngDecoder, ExpandsSixteenBitGraysByClipping) {
  PixelBuffer buffer;
  const PixelView image = decode_png(golden_image("gray16.png"), buffer);
  for (int value = 0; value < 320; ++value) {
    const std::uint8_t* pixel = image.row(value / 20) + 3 * (value % 20);
    for (int channel = 0; channel < 3; ++channel) EXPECT_EQ(pixel[channel], std::min(value, 255));
  }
}

TEST(PngDecoder, RefusesATruncatedFile) {
  const std::vector<std::uint8_t> bytes = golden_image("rgb.png");
  PixelBuffer buffer;
  for (const std::size_t size :
       {std::size_t{8}, std::size_t{20}, bytes.size() / 2, bytes.size() - 30}) {
    EXPECT_THAT([&] { decode_png(std::span(bytes).first(size), buffer); },
                ThrowsMessage<base::DataError>(HasSubstr("truncated")))
        << size;
  }
}

TEST(PngDecoder, RefusesDamagedPixels) {
  std::vector<std::uint8_t> bytes = golden_image("rgb.png");
  bytes[bytes.size() / 2] ^= 0x55;
  PixelBuffer buffer;
  EXPECT_THAT([&] { decode_png(bytes, buffer); },
              ThrowsMessage<base::DataError>(HasSubstr("damaged PNG")));
}

TEST(PngDecoder, RefusesAGiantBeforeItAllocates) {
  std::vector<std::uint8_t> bytes = golden_image("rgb.png");
  // Width 0x000F0017 and the checksum of the header with it.
  bytes[17] = 0x0F;
  EXPECT_THROW(read_png_size(bytes), base::DataError);
}

}  // namespace
}  // namespace paceline::data
