#include "paceline/data/codec/gray_decoder.h"

#include "paceline/base/error.h"
#include "paceline/data/codec/jpeg_decoder.h"
#include "paceline/data/codec/tiff_decoder.h"
#include "support/data/mutations.h"
#include "support/data/test_images.h"

#include <algorithm>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::data {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

TEST(GrayDecoder, TellsFormatsByTheirFirstBytes) {
  EXPECT_EQ(decode_gray(golden_image("gray16.png")).values[300], 300);
  const std::vector<std::uint8_t> jpeg = golden_image("gray.jpg");
  JpegDecoder decoder;
  PixelBuffer buffer;
  const ImageSize size = decoder.open(jpeg);
  const PixelView pixels = decoder.decode(whole(size), buffer);
  const GrayImage gray = decode_gray(jpeg);
  ASSERT_EQ(gray.size, size);
  for (int y = 0; y < size.height; ++y) {
    for (int x = 0; x < size.width; ++x)
      ASSERT_EQ(gray.values[static_cast<std::size_t>(y * size.width + x)],
                257 * pixels.row(y)[3 * x]);
  }
}

TEST(GrayDecoder, ReadsTiffWithAllItsBits) {
  for (const char* const name : {"gray.tiff", "gray16.tif", "white_is_zero.tif"}) {
    const std::vector<std::uint8_t> file = other_format(name);
    PixelBuffer buffer;
    const PixelView pixels = decode_tiff(file, buffer);  // of 16 bits it clips those above 255
    const GrayImage gray = decode_gray(file);
    const bool is_wide = std::string(name) == "gray16.tif";
    ASSERT_EQ(gray.size, pixels.size);
    for (std::size_t i = 0; i < gray.values.size(); ++i) {
      const int value = gray.values[i];
      const std::uint8_t* const row = pixels.row(static_cast<int>(i) / gray.size.width);
      const int seen = row[3 * (static_cast<int>(i) % gray.size.width)];
      ASSERT_EQ(is_wide ? std::min(value, 255) : value / 257, seen) << name;
    }
    if (is_wide) {
      EXPECT_GT(*std::ranges::max_element(gray.values), 255);
    }
  }
}

TEST(GrayDecoder, RefusesTiffThatIsNoPlainGrey) {
  for (const char* const name : {"raw.tif", "gray_alpha.tif", "palette.tif", "rgb16.tif"}) {
    EXPECT_THAT([&] { decode_gray(other_format(name)); },
                ThrowsMessage<base::DataError>(HasSubstr("colours or transparency")))
        << name;
  }
}

TEST(GrayDecoder, RefusesColoursAndOtherFormats) {
  EXPECT_THAT([] { decode_gray(golden_image("rgb.jpg")); },
              ThrowsMessage<base::DataError>(HasSubstr("a picture in colours")));
  EXPECT_THAT([] { decode_gray(other_format("gray.bmp")); },
              ThrowsMessage<base::DataError>(HasSubstr("save it as PNG")));
  EXPECT_THAT([] { decode_gray({}); }, ThrowsMessage<base::DataError>(HasSubstr("neither a PNG")));
}

TEST(GrayDecoderFuzz, DamagedFilesAreErrors) {
  const std::vector<std::vector<std::uint8_t>> files{
      golden_image("gray16.png"), golden_image("gray4.png"), golden_image("gray.jpg"),
      other_format("gray.tiff"), other_format("gray16.tif")};
  repeat_fuzzing([&](std::mt19937& random) {
    const std::vector<std::uint8_t>& file = files[random() % files.size()];
    std::string bytes(file.begin(), file.end());
    mutate(bytes, random);
    try {
      const GrayImage image =
          decode_gray({reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()});
      ASSERT_EQ(image.values.size(), static_cast<std::size_t>(image.size.height) *
                                         static_cast<std::size_t>(image.size.width));
    } catch (const base::DataError&) {
      // as it should be
    }
  });
}

}  // namespace
}  // namespace paceline::data
