#include "paceline/data/codec/webp_decoder.h"

#include "paceline/base/error.h"
#include "support/data/test_images.h"

#include <string>

#include <gmock/gmock.h>

namespace paceline::data {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

TEST(WebpDecoder, RefusesATruncatedFile) {
  const auto file = other_format("lossy.webp");
  PixelBuffer buffer;
  EXPECT_EQ(read_webp_size(file), (ImageSize{13, 21}));
  EXPECT_THAT([&] { decode_webp(std::span(file).first(file.size() - 20), buffer); },
              ThrowsMessage<base::DataError>(HasSubstr("end early")));
  EXPECT_THAT([&] { read_webp_size(std::span(file).first(14)); },
              ThrowsMessage<base::DataError>(HasSubstr("header")));
}

TEST(WebpDecoder, ATruncatedAnimationIsAnError) {
  const auto file = other_format("animated.webp");
  PixelBuffer buffer;
  EXPECT_EQ(read_webp_size(file), (ImageSize{13, 21}));
  decode_webp(file, buffer);
  EXPECT_THAT([&] { decode_webp(std::span(file).first(file.size() / 2), buffer); },
              ThrowsMessage<base::DataError>(HasSubstr("first frame")));
}

}  // namespace
}  // namespace paceline::data
