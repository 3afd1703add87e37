#include "paceline/data/codec/image_format.h"

#include "support/data/test_images.h"

#include <gtest/gtest.h>

namespace paceline::data {
namespace {

TEST(ImageFormat, IsToldByTheFirstBytes) {
  EXPECT_EQ(detect_format(golden_image("444.jpg")), ImageFormat::kJpeg);
  EXPECT_EQ(detect_format(golden_image("rgb.png")), ImageFormat::kPng);
  EXPECT_EQ(detect_format(golden_image("png_named.JPEG")), ImageFormat::kPng);
}

TEST(ImageFormat, IsUnknownForOtherOrTooFewBytes) {
  const std::vector<std::uint8_t> jpeg = golden_image("444.jpg");
  EXPECT_EQ(detect_format({}), ImageFormat::kUnknown);
  EXPECT_EQ(detect_format(std::span(jpeg).first(2)), ImageFormat::kUnknown);
  EXPECT_EQ(detect_format(std::span(jpeg).subspan(1)), ImageFormat::kUnknown);
}

}  // namespace
}  // namespace paceline::data
