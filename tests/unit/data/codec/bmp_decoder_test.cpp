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
