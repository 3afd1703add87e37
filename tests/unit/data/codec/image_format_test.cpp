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

TEST(ImageFormat, KnowsWhatTorchvisionTakes) {
  const auto format_of = [](const std::string& start) {
    return detect_format({reinterpret_cast<const std::uint8_t*>(start.data()), start.size()});
  };
  EXPECT_EQ(format_of(std::string("RIFF\x01\x02\x03\x04WEBPVP8 ", 16)), ImageFormat::kWebp);
  EXPECT_EQ(format_of(std::string("RIFF\x01\x02\x03\x04WAVE", 12)), ImageFormat::kUnknown);
  EXPECT_EQ(format_of(std::string("II*\0", 4)), ImageFormat::kTiff);
  EXPECT_EQ(format_of(std::string("MM\0*", 4)), ImageFormat::kTiff);
  EXPECT_EQ(format_of("BM"), ImageFormat::kBmp);
  for (const char* const start : {"P2\n", "P3 ", "P5\t", "P6#"})
    EXPECT_EQ(format_of(start), ImageFormat::kPnm);
  EXPECT_EQ(format_of("P7\n"), ImageFormat::kUnknown);
  EXPECT_STREQ(name_of(ImageFormat::kWebp), "WebP");
}

}  // namespace
}  // namespace paceline::data
