#include "paceline/data/codec/image_decoder.h"

#include "paceline/base/error.h"
#include "support/data/test_images.h"

#include <gmock/gmock.h>

namespace paceline::data {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

TEST(ImageDecoder, TakesFormatsInAnyOrder) {
  ImageDecoder decoder;
  PixelBuffer buffer;
  for (const auto& [name, size] :
       {std::pair{"444.jpg", ImageSize{83, 109}}, std::pair{"rgb.png", ImageSize{19, 23}},
        std::pair{"png_named.JPEG", ImageSize{19, 23}},
        std::pair{"gray.jpg", ImageSize{83, 109}}}) {
    const std::vector<std::uint8_t> bytes = golden_image(name);
    EXPECT_EQ(decoder.open(bytes), size) << name;
    EXPECT_EQ(decoder.decode({2, 3, 5, 7}, buffer).size, (ImageSize{5, 7})) << name;
  }
}

TEST(ImageDecoder, CutsABoxOutOfAPng) {
  const std::vector<std::uint8_t> bytes = golden_image("rgb.png");
  ImageDecoder decoder;
  PixelBuffer full_buffer;
  PixelBuffer buffer;
  decoder.open(bytes);
  const PixelView full = decoder.decode({0, 0, 19, 23}, full_buffer);
  decoder.open(bytes);
  EXPECT_EQ(packed(decoder.decode({4, 5, 6, 7}, buffer)), packed(full.part({4, 5, 6, 7})));
}

TEST(ImageDecoder, NamesWhatItCannotRead) {
  ImageDecoder decoder;
  const std::vector<std::uint8_t> gif = {'G', 'I', 'F', '8', '9', 'a'};
  EXPECT_THAT([&] { decoder.open({}); }, ThrowsMessage<base::DataError>(HasSubstr("empty")));
  EXPECT_THAT([&] { decoder.open(gif); },
              ThrowsMessage<base::DataError>(HasSubstr("it starts with 47 49 46 38")));
}

}  // namespace
}  // namespace paceline::data
