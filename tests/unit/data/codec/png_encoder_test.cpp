#include "paceline/data/codec/png_encoder.h"

#include "paceline/base/error.h"
#include "paceline/data/codec/png_decoder.h"

#include <cstdint>
#include <span>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::data {
namespace {

std::span<const std::uint8_t> as_file(const std::string& bytes) {
  return {reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()};
}

TEST(PngEncoder, KeepsEveryBit) {
  GrayImage image{.size = {64, 48}};
  for (int i = 0; i < 64 * 48; ++i) image.values.push_back(static_cast<std::uint16_t>(i * 40503));
  const std::string bytes = encode_gray_png(image);
  EXPECT_EQ(read_png_size(as_file(bytes)), image.size);
  EXPECT_EQ(bytes[24], 16) << "bits";
  EXPECT_EQ(bytes[25], 0) << "a grey picture";
  EXPECT_EQ(decode_gray_png(as_file(bytes)).values, image.values);
  EXPECT_EQ(encode_gray_png(image), bytes);
}

TEST(PngEncoder, SaysWhatThePictureIs) {
  const GrayImage image{.size = {1, 2}, .values = {0, 65535}};
  EXPECT_THAT(encode_gray_png(image, "not for diagnosis"),
              testing::HasSubstr(std::string("tEXtDescription\0not for diagnosis", 33)));
  EXPECT_THAT(encode_gray_png(image), testing::Not(testing::HasSubstr("tEXt")));
}

TEST(PngEncoder, RefusesValuesThatDoNotFillTheImage) {
  EXPECT_THROW(encode_gray_png({.size = {2, 2}, .values = {1, 2, 3}}), base::InternalError);
  EXPECT_THROW(encode_gray_png({.size = {0, 2}}), base::InternalError);
}

}  // namespace
}  // namespace paceline::data
