#include "paceline/data/codec/png_decoder.h"

#include "paceline/base/error.h"
#include "support/data/test_images.h"

#include <array>
#include <cstdint>
#include <vector>

#include <gmock/gmock.h>
#include <png.h>

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

/// Of a file of at most 8 bits: its greys spread over 16.
std::vector<std::uint16_t> spread_greys(const std::vector<std::uint8_t>& file) {
  PixelBuffer buffer;
  const PixelView image = decode_png(file, buffer);
  std::vector<std::uint16_t> values;
  for (int y = 0; y < image.size.height; ++y) {
    for (int x = 0; x < image.size.width; ++x)
      values.push_back(static_cast<std::uint16_t>(257 * image.row(y)[3 * x]));
  }
  return values;
}

TEST(PngDecoder, KeepsAllBitsOfGreys) {
  const GrayImage gray16 = decode_gray_png(golden_image("gray16.png"));
  EXPECT_EQ(gray16.size, (ImageSize{20, 20}));
  for (std::uint16_t value = 0; value < 320; ++value) EXPECT_EQ(gray16.values[value], value);
  for (const char* const name : {"gray.png", "gray4.png"}) {
    const std::vector<std::uint8_t> file = golden_image(name);
    const GrayImage gray = decode_gray_png(file);
    EXPECT_EQ(gray.size, read_png_size(file));
    EXPECT_EQ(gray.values, spread_greys(file)) << name;
  }
}

TEST(PngDecoder, TakesEqualChannelsForGreysAndRefusesOthers) {
  // A picture of two pixels, (7, 7, 7) and (9, 9, 9) or (9, 9, 8), by libpng.
  const auto rgb_file = [](std::uint8_t last) {
    const std::array<std::uint8_t, 6> pixels{7, 7, 7, 9, 9, last};
    png_image image{};
    image.version = PNG_IMAGE_VERSION;
    image.format = PNG_FORMAT_RGB;
    image.width = 2;
    image.height = 1;
    std::vector<std::uint8_t> bytes(1000);
    png_alloc_size_t size = bytes.size();
    EXPECT_NE(png_image_write_to_memory(&image, bytes.data(), &size, 0, pixels.data(), 0, nullptr),
              0);
    bytes.resize(size);
    return bytes;
  };
  EXPECT_EQ(decode_gray_png(rgb_file(9)).values, (std::vector<std::uint16_t>{7 * 257, 9 * 257}));
  EXPECT_THAT([&] { decode_gray_png(rgb_file(8)); },
              ThrowsMessage<base::DataError>(HasSubstr("a picture in colours")));
  EXPECT_THAT([] { decode_gray_png(golden_image("rgb16.png")); },
              ThrowsMessage<base::DataError>(HasSubstr("a picture in colours")));
  for (const char* const name : {"rgba.png", "gray_alpha16.png", "palette_transparent.png"})
    EXPECT_THAT([&] { decode_gray_png(golden_image(name)); },
                ThrowsMessage<base::DataError>(HasSubstr("transparency")))
        << name;
}

TEST(PngDecoder, RefusesDamagedGreys) {
  const std::vector<std::uint8_t> bytes = golden_image("gray16.png");
  for (std::size_t size = 0; size + 12 < bytes.size(); size += 7)  // an end alone may be lost
    EXPECT_THROW(decode_gray_png(std::span(bytes).first(size)), base::DataError) << size;
}

}  // namespace
}  // namespace paceline::data
