#include "paceline/data/codec/jpeg/indexed_file.h"

#include "paceline/data/codec/image_format.h"
#include "paceline/data/codec/jpeg/libjpeg_decoder.h"
#include "support/data/jpeg_images.h"
#include "support/data/mutations.h"
#include "support/data/test_images.h"

#include <algorithm>
#include <string>

namespace paceline::data::jpeg {
namespace {

class IndexedFileOf : public testing::TestWithParam<JpegKind> {
 protected:
  void check(ImageSize size, unsigned seed, int num_boxes) {
    const auto file = make_jpeg(size, GetParam(), seed);
    const auto indexed = index_file(file);
    ASSERT_TRUE(indexed.has_value());
    EXPECT_EQ(detect_format(*indexed), ImageFormat::kIndexedJpeg);
    EXPECT_TRUE(std::equal(file.rbegin(), file.rend(), indexed->rbegin())) << "the file itself";
    libjpeg_.open(file);
    const PixelView expected = libjpeg_.decode(whole(size), expected_);
    std::mt19937 random(seed);
    for (int i = 0; i < num_boxes; ++i) {
      const Box box = i == 0 ? whole(size) : random_box(size, random);
      ASSERT_EQ(decoder_.open(*indexed), size);
      const auto pixels = decoder_.decode(box, pixels_);
      ASSERT_TRUE(pixels.has_value());
      ASSERT_EQ(packed(*pixels), packed(expected.part(box)))
          << size.height << " x " << size.width << ", box " << box.top << " " << box.left << " "
          << box.height << " " << box.width;
    }
  }

  LibjpegDecoder libjpeg_;
  IndexedFileDecoder decoder_;
  PixelBuffer expected_;
  PixelBuffer pixels_;
};

TEST_P(IndexedFileOf, HasTheFilesPixels) {
  check({83, 109}, 1, 40);
  check({97, 300}, 2, 80);
}

TEST_P(IndexedFileOf, HasTheFilesPixelsAtAnySize) {
  for (const int height : {1, 2, 7, 8, 9, 16, 17}) {
    for (const int width : {5, 8, 15, 16, 17, 63, 64, 65, 128, 129})
      check({height, width}, static_cast<unsigned>(height * width), 3);
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds, IndexedFileOf, testing::ValuesIn(common_jpeg_kinds()));

TEST(IndexFile, TakesFewBytesMore) {
  const auto file = make_jpeg({400, 500}, {.quality = 96}, 1);
  EXPECT_LT(static_cast<double>(index_file(file)->size()), 1.04 * static_cast<double>(file.size()));
}

TEST(IndexFile, LeavesOtherAndDamagedFilesAlone) {
  auto file = make_jpeg({64, 64}, {}, 1);
  ASSERT_TRUE(index_file(file).has_value());
  file.resize(file.size() / 2);
  file.insert(file.end(), {0xFF, 0xD9});
  EXPECT_FALSE(index_file(file).has_value());
  EXPECT_FALSE(index_file({}).has_value());
}

TEST(IndexedFileFuzz, StaysInsideDamagedBytes) {
  const auto indexed = index_file(make_jpeg({40, 100}, {.columns = 2, .rows = 2}, 1));
  IndexedFileDecoder decoder;
  PixelBuffer pixels;
  const auto is_refused = [&](const std::string& bytes) {
    const std::vector<std::uint8_t> copy(bytes.begin(), bytes.end());
    const auto size = decoder.open(copy);
    if (!size || std::int64_t{size->height} * size->width > 1 << 20) return true;
    return !decoder.decode(whole(*size), pixels).has_value();
  };
  const std::string sound(indexed->begin(), indexed->end());
  ASSERT_FALSE(is_refused(sound));
  int refused = 0;
  const int count = repeat_fuzzing([&](std::mt19937& random) {
    std::string bytes = sound;
    mutate(bytes, random);
    refused += is_refused(bytes) ? 1 : 0;
  });
  EXPECT_GT(refused, count / 4);
}

}  // namespace
}  // namespace paceline::data::jpeg
