#include "paceline/metrics/picture_png.h"

#include "paceline/base/error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <png.h>

namespace paceline::metrics {
namespace {

TEST(PicturePng, HoldsThePixels) {
  Picture picture{"val/slices", 5, 3, {}};
  for (int i = 0; i < 45; ++i) picture.pixels.push_back(static_cast<std::uint8_t>(5 * i));
  const std::string png = encode_png(picture);
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  ASSERT_NE(png_image_begin_read_from_memory(&image, png.data(), png.size()), 0);
  EXPECT_EQ(image.width, 5u);
  EXPECT_EQ(image.height, 3u);
  EXPECT_EQ(image.format, static_cast<png_uint_32>(PNG_FORMAT_RGB));
  std::vector<std::uint8_t> read(PNG_IMAGE_SIZE(image));
  ASSERT_NE(png_image_finish_read(&image, nullptr, read.data(), 0, nullptr), 0);
  EXPECT_EQ(read, picture.pixels);
}

TEST(PicturePng, RefusesPixelsThatAreNotAllThere) {
  EXPECT_THROW(encode_png({"a", 2, 2, std::vector<std::uint8_t>(11)}), base::InternalError);
  EXPECT_THROW(encode_png({"a", 0, 2, {}}), base::InternalError);
}

}  // namespace
}  // namespace paceline::metrics
