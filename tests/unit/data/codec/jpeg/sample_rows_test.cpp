#include "paceline/data/codec/jpeg/sample_rows.h"

#include <vector>

#include <gmock/gmock.h>

namespace paceline::data::jpeg {
namespace {

using testing::ElementsAre;

// Values worked out by hand from libjpeg's rules; baseline_decoder_test compares with libjpeg
// itself.
TEST(PlainSampleRows, AreUpsampledByTriangleWeights) {
  const std::uint8_t near[] = {10, 10, 21, 21};
  const std::uint8_t far[] = {10, 10, 13, 13};
  std::vector<std::uint8_t> row(4);
  widen_row_scalar(near + 1, 2, row.data());
  EXPECT_THAT(row, ElementsAre(10, 13, 18, 21));
  widen_blended_row_scalar(near + 1, far + 1, 2, row.data());
  EXPECT_THAT(row, ElementsAre(10, 12, 17, 19));
  row.resize(2);
  const std::uint8_t one_above[] = {10, 23};
  blend_rows_scalar(near + 1, one_above, 2, Rounding::kDown, row.data());
  EXPECT_THAT(row, ElementsAre(10, 21));
  const std::uint8_t two_above[] = {12, 23};
  blend_rows_scalar(near + 1, two_above, 2, Rounding::kDown, row.data());
  EXPECT_THAT(row, ElementsAre(10, 21));
  blend_rows_scalar(near + 1, two_above, 2, Rounding::kUp, row.data());
  EXPECT_THAT(row, ElementsAre(11, 22));
}

TEST(PlainSampleRows, AreConvertedByTheStandardsFactors) {
  const std::uint8_t y[] = {128, 76, 150, 29, 255};
  const std::uint8_t cb[] = {128, 85, 44, 255, 255};
  const std::uint8_t cr[] = {128, 255, 21, 107, 128};
  std::vector<std::uint8_t> rgb(15);
  convert_ycc_row_scalar(y, cb, cr, 5, rgb.data());
  EXPECT_THAT(rgb, ElementsAre(128, 128, 128, 254, 0, 0, 0, 255, 1, 0, 0, 254, 255, 211, 255));
}

}  // namespace
}  // namespace paceline::data::jpeg
