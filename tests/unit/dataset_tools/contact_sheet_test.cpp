#include "paceline/dataset_tools/contact_sheet.h"

#include "paceline/base/error.h"
#include "paceline/base/file.h"
#include "paceline/data/codec/image_decoder.h"
#include "support/data/test_images.h"
#include "support/temp_folder.h"

#include <cstring>

#include <gtest/gtest.h>

namespace paceline::dataset_tools {
namespace {

/// An image of one value.
struct FlatImage {
  data::PixelBuffer buffer;
  data::PixelView view;

  FlatImage(data::ImageSize size, std::uint8_t value) {
    const std::size_t count = std::size_t{3} * static_cast<std::size_t>(size.height * size.width);
    std::memset(buffer.reserve(count), value, count);
    view = {buffer.data(), size, std::ptrdiff_t{3} * size.width};
  }
};

std::uint8_t at(const data::PixelView& view, int x, int y) { return view.row(y)[3 * x]; }

TEST(ContactSheet, HasRowsOfAboutEqualLength) {
  EXPECT_EQ(ContactSheet(1, 10).pixels().size, (data::ImageSize{18, 18}));
  EXPECT_EQ(ContactSheet(4, 10).pixels().size, (data::ImageSize{32, 32}));
  EXPECT_EQ(ContactSheet(5, 10).pixels().size, (data::ImageSize{32, 46}));
}

TEST(ContactSheet, PutsImagesIntoTheMiddleOfTheirTiles) {
  ContactSheet sheet(4, 10);
  sheet.put(1, FlatImage({6, 4}, 200).view);
  const data::PixelView view = sheet.pixels();
  const std::uint8_t ground = at(view, 0, 0);
  int changed = 0;
  for (int y = 0; y < 32; ++y) {
    for (int x = 0; x < 32; ++x) {
      const bool is_inside = x >= 21 && x < 25 && y >= 6 && y < 12;
      EXPECT_EQ(at(view, x, y), is_inside ? 200 : ground) << x << " " << y;
      changed += is_inside ? 1 : 0;
    }
  }
  EXPECT_EQ(changed, 24);
}

TEST(ContactSheet, MakesLargeImagesFit) {
  ContactSheet sheet(2, 10);
  sheet.put(0, FlatImage({40, 80}, 200).view);
  sheet.put(1, FlatImage({1, 3000}, 100).view);
  const data::PixelView view = sheet.pixels();
  EXPECT_EQ(at(view, 4, 6), 200);
  EXPECT_EQ(at(view, 13, 10), 200);
  EXPECT_NE(at(view, 4, 5), 200);
  EXPECT_EQ(at(view, 18, 8), 100);
}

TEST(ContactSheet, IsWrittenAsPng) {
  const test::TempFolder folder;
  ContactSheet sheet(1, 30);
  const data::NoiseImage image({21, 30}, 7);
  sheet.put(0, image.view);
  sheet.write_png(folder.path() / "sheet.png");
  const std::vector<std::uint8_t> file = data::read_bytes(folder.path() / "sheet.png");
  data::ImageDecoder decoder;
  data::PixelBuffer buffer;
  const data::PixelView read = decoder.decode(whole(decoder.open(file)), buffer);
  ASSERT_EQ(read.size, sheet.pixels().size);
  for (int y = 0; y < read.size.height; ++y)
    EXPECT_EQ(std::memcmp(read.row(y), sheet.pixels().row(y), 3 * 38), 0);
  EXPECT_THROW(sheet.write_png(folder.path() / "absent" / "x.png"), base::FileError);
}

}  // namespace
}  // namespace paceline::dataset_tools
