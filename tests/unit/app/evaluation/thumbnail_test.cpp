#include "paceline/app/evaluation/thumbnail.h"

#include "paceline/data/sources/image_files.h"
#include "support/temp_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::app {
namespace {

using ::testing::StartsWith;

std::string base64_of(std::string_view text) {
  return base64({reinterpret_cast<const std::uint8_t*>(text.data()), text.size()});
}

TEST(Thumbnail, Base64IsThatOfTheStandard) {
  EXPECT_EQ(base64_of(""), "");
  EXPECT_EQ(base64_of("f"), "Zg==");
  EXPECT_EQ(base64_of("fo"), "Zm8=");
  EXPECT_EQ(base64_of("foo"), "Zm9v");
  EXPECT_EQ(base64_of("foobar"), "Zm9vYmFy");
  EXPECT_EQ(base64_of("\xFB\xFF\xBF"), "+/+/");
}

TEST(Thumbnail, IsAJpegOfAnImageAndEmptyOfWhatIsNone) {
  const paceline::test::TempFolder folder;
  const auto dataset = data::open_image_files(
      {folder.write("a.ppm", "P6 2 1 255\n\xFF\x01\x02\x03\x04\x05"), folder.write("b.jpg", "no")});
  Thumbnails thumbnails(*dataset, 100);
  EXPECT_THAT(thumbnails.uri(0), StartsWith("data:image/jpeg;base64,/9j/"));
  EXPECT_EQ(thumbnails.uri(1), "");
}

}  // namespace
}  // namespace paceline::app
