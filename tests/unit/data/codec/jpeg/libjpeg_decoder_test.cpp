#include "paceline/data/codec/jpeg/libjpeg_decoder.h"

#include "paceline/base/error.h"
#include "support/data/jpeg_images.h"
#include "support/data/test_images.h"

#include <algorithm>

#include <gmock/gmock.h>

namespace paceline::data::jpeg {
namespace {

class LibjpegCrop : public testing::TestWithParam<JpegKind> {};

// It is the way of damaged files of the common kind, too.
TEST_P(LibjpegCrop, HasThePixelsOfAFullDecode) {
  const ImageSize size = {83, 109};
  const auto file = make_jpeg(size, GetParam(), 4);
  LibjpegDecoder decoder;
  PixelBuffer full_buffer;
  PixelBuffer crop_buffer;
  decoder.open(file);
  const PixelView full = decoder.decode(whole(size), full_buffer);
  std::mt19937 random(3);
  for (int i = 0; i < 60; ++i) {
    const Box box = random_box(size, random);
    decoder.open(file);
    ASSERT_EQ(packed(decoder.decode(box, crop_buffer)), packed(full.part(box)));
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds, LibjpegCrop, testing::ValuesIn(common_jpeg_kinds()));

TEST(LibjpegDecoder, RefusesAFileOfTooManyScans) {
  auto file = golden_image("progressive.jpg");
  LibjpegDecoder decoder;
  PixelBuffer buffer;
  const ImageSize size = decoder.open(file);
  decoder.decode(whole(size), buffer);
  const std::vector<std::uint8_t> start_of_scan = {0xFF, 0xDA};
  const auto last =
      std::find_end(file.begin(), file.end(), start_of_scan.begin(), start_of_scan.end());
  const std::vector<std::uint8_t> scan(last, file.end() - 2);
  std::vector<std::uint8_t> many(file.begin(), last);
  for (int i = 0; i < 400; ++i) many.insert(many.end(), scan.begin(), scan.end());
  many.insert(many.end(), {0xFF, 0xD9});
  decoder.open(many);
  EXPECT_THAT(
      [&] { decoder.decode(whole(size), buffer); },
      ::testing::ThrowsMessage<base::DataError>(::testing::HasSubstr("more than 100 scans")));
}

}  // namespace
}  // namespace paceline::data::jpeg
