#include "paceline/data/codec/bmp_decoder.h"

#include "paceline/base/error.h"
#include "support/data/test_images.h"

#include <string>

#include <gmock/gmock.h>

namespace paceline::data {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

TEST(BmpDecoder, NamesWhatItCannotRead) {
  auto file = other_format("rgb.bmp");
  EXPECT_EQ(read_bmp_size(file), (ImageSize{13, 21}));
  file[30] = 1;  // the compression
  EXPECT_THAT([&] { read_bmp_size(file); },
              ThrowsMessage<base::DataError>(HasSubstr("24 bits a pixel and compression 1")));
  file[14] = 13;  // bytes of the header
  EXPECT_THAT([&] { read_bmp_size(file); },
              ThrowsMessage<base::DataError>(HasSubstr("header of unknown size")));
}

TEST(BmpDecoder, RefusesRunsThatEndEarlyOrLeaveTheirRow) {
  auto file = other_format("rle8.bmp");
  PixelBuffer buffer;
  decode_bmp(file, buffer);
  const std::size_t pixels = 14 + 40 + 1024;
  auto early = file;
  early[pixels] = 0;  // the picture's end where its first run was
  early[pixels + 1] = 1;
  EXPECT_THAT([&] { decode_bmp(early, buffer); },
              ThrowsMessage<base::DataError>(HasSubstr("ends before the picture does")));
  auto wide = file;
  wide[pixels] = 200;
  EXPECT_THAT([&] { decode_bmp(wide, buffer); },
              ThrowsMessage<base::DataError>(HasSubstr("longer than the picture is wide")));
  EXPECT_THAT([&] { decode_bmp(std::span(file).first(pixels + 30), buffer); },
              ThrowsMessage<base::DataError>(HasSubstr("truncated")));
}

TEST(BmpDecoder, RefusesAGiantAndATruncatedFile) {
  auto file = other_format("rgb.bmp");
  PixelBuffer buffer;
  EXPECT_THAT([&] { decode_bmp(std::span(file).first(file.size() - 1), buffer); },
              ThrowsMessage<base::DataError>(HasSubstr("truncated")));
  file[20] = file[24] = 100;  // 100 * 65536 pixels a side
  EXPECT_THROW(decode_bmp(file, buffer), base::DataError);
  EXPECT_EQ(buffer.capacity(), 0u);
}

}  // namespace
}  // namespace paceline::data
