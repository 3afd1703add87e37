#include "paceline/data/codec/jpeg/store_coefficients.h"

#include "paceline/data/codec/image_format.h"
#include "support/data/jpeg_images.h"
#include "support/data/test_images.h"

#include <gtest/gtest.h>

namespace paceline::data::jpeg {
namespace {

TEST(StoreCoefficients, TakesLessThanTwiceTheFile) {
  const auto file = make_jpeg({300, 400}, {.quality = 96}, 1);
  const auto stored = store_coefficients(file);
  ASSERT_TRUE(stored.has_value());
  EXPECT_EQ(detect_format(*stored), ImageFormat::kCoefficients);
  EXPECT_LT(stored->size(), 2 * file.size());
}

TEST(StoreCoefficients, LeavesOtherAndDamagedFilesAlone) {
  auto file = make_jpeg({64, 64}, {}, 1);
  ASSERT_TRUE(store_coefficients(file).has_value());
  file.resize(file.size() / 2);
  file.insert(file.end(), {0xFF, 0xD9});
  EXPECT_FALSE(store_coefficients(file).has_value());
  EXPECT_FALSE(store_coefficients({}).has_value());
  const std::string text = "no image";
  EXPECT_FALSE(store_coefficients(std::vector<std::uint8_t>(text.begin(), text.end())).has_value());
}

}  // namespace
}  // namespace paceline::data::jpeg
