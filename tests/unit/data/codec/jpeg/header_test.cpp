#include "paceline/data/codec/jpeg/header.h"

#include "support/data/jpeg_images.h"
#include "support/data/test_images.h"

#include <gtest/gtest.h>

namespace paceline::data::jpeg {
namespace {

TEST(JpegHeader, HoldsWhatTheFileSays) {
  const auto file =
      make_jpeg({70, 51}, {.columns = 2, .rows = 2, .quality = 50, .restart_interval = 3}, 1);
  Header header;
  ASSERT_TRUE(parse_header(file, header));
  EXPECT_EQ(header.size, (ImageSize{70, 51}));
  EXPECT_EQ(header.num_components, 3U);
  EXPECT_EQ(header.components[0].columns, 2);
  EXPECT_EQ(header.components[0].rows, 2);
  EXPECT_EQ(header.components[2].ac_code, 1U);
  EXPECT_EQ(header.restart_interval, 3);
  EXPECT_EQ(header.mcu_columns(), 4);
  EXPECT_EQ(header.mcu_rows(), 5);
  // Quality 50 has the standard's own quantisers.
  EXPECT_EQ(header.quantisers[0].values[0], 16);
  EXPECT_EQ(header.quantisers[0].values[1], 11);
  EXPECT_EQ(header.quantisers[0].values[8], 12);
  EXPECT_EQ(header.dc_codes[0].counts[2], 5);
  EXPECT_EQ(file[header.scan_begin - 1], 0);
  EXPECT_EQ(file[header.scan_begin - 2], 63);
}

class UnusualJpeg : public testing::TestWithParam<const char*> {};

TEST_P(UnusualJpeg, IsLeftToLibjpeg) {
  Header header;
  EXPECT_FALSE(parse_header(golden_image(GetParam()), header));
}

INSTANTIATE_TEST_SUITE_P(Kinds, UnusualJpeg,
                         testing::Values("progressive.jpg", "arithmetic.jpg", "cmyk.jpg", "rgb.jpg",
                                         "mixed.jpg", "sampling_4x1.jpg", "sampling_2x4.jpg",
                                         "narrow.jpg", "rgb.png"),
                         [](const auto& name) {
                           std::string text = name.param;
                           std::ranges::replace(text, '.', '_');
                           return text;
                         });

TEST(JpegHeader, IsRefusedWhereverItIsCut) {
  const auto file = golden_image("turned.jpg");
  Header header;
  ASSERT_TRUE(parse_header(file, header));
  const std::size_t end = header.scan_begin;
  for (std::size_t size = 0; size < end; ++size) {
    // A copy of its own, so that a sanitizer sees reads beyond it.
    const std::vector<std::uint8_t> cut(file.begin(), file.begin() + static_cast<long>(size));
    EXPECT_FALSE(parse_header(cut, header)) << size;
  }
}

}  // namespace
}  // namespace paceline::data::jpeg
