#include "paceline/data/codec/tiff_decoder.h"

#include "paceline/base/error.h"
#include "support/data/test_images.h"

#include <string>

#include <gmock/gmock.h>

namespace paceline::data {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

TEST(TiffDecoder, NamesWhatItCannotRead) {
  auto file = other_format("white_is_zero.tif");
  PixelBuffer buffer;
  EXPECT_EQ(read_tiff_size(file), (ImageSize{13, 21}));
  // Entries of 12 bytes behind the pixels and a count: the third one is the bits of a value.
  const std::size_t entries = 8 + 274 + 2;
  file[entries + 2 * 12 + 8] = 16;
  EXPECT_THAT([&] { decode_tiff(file, buffer); },
              ThrowsMessage<base::DataError>(HasSubstr("a TIFF of 16 bits a value")));
  file[entries + 2 * 12 + 8] = 8;
  decode_tiff(file, buffer);
  file[entries + 4 * 12 + 8] = 8;  // CIELab
  EXPECT_THAT([&] { decode_tiff(file, buffer); },
              ThrowsMessage<base::DataError>(HasSubstr("colours 8")));
}

TEST(TiffDecoder, ItsSizeIsThatOfTheTurnedPicture) {
  EXPECT_EQ(read_tiff_size(other_format("orientation_4.tif")), (ImageSize{13, 21}));
  EXPECT_EQ(read_tiff_size(other_format("orientation_5.tif")), (ImageSize{21, 13}));
}

TEST(TiffDecoder, RefusesWideValuesMultipliedByAlpha) {
  auto file = other_format("premultiplied.tif");
  PixelBuffer buffer;
  decode_tiff(file, buffer);
  for (std::size_t i = 0; i < 4; ++i) file[8 + 2 * i] = 16;  // the bits of its values
  EXPECT_THAT([&] { decode_tiff(file, buffer); },
              ThrowsMessage<base::DataError>(HasSubstr("multiplied by alpha")));
}

TEST(TiffDecoder, RefusesATruncatedFile) {
  const auto file = other_format("tiff_lzw.tif");
  EXPECT_THROW(read_tiff_size(std::span(file).first(4)), base::DataError);
}

}  // namespace
}  // namespace paceline::data
