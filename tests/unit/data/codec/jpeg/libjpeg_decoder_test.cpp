#include "paceline/data/codec/jpeg/libjpeg_decoder.h"

#include "support/data/jpeg_images.h"
#include "support/data/test_images.h"

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

}  // namespace
}  // namespace paceline::data::jpeg
