#include "paceline/data/codec/jpeg/stored_coefficients.h"

#include "paceline/data/codec/jpeg/libjpeg_decoder.h"
#include "paceline/data/codec/jpeg/store_coefficients.h"
#include "support/data/instruction_sets.h"
#include "support/data/jpeg_images.h"
#include "support/data/mutations.h"
#include "support/data/test_images.h"

#include <algorithm>
#include <string>

namespace paceline::data::jpeg {
namespace {

class StoredCoefficientsOf : public testing::TestWithParam<JpegKind> {
 protected:
  void check(ImageSize size, unsigned seed, int num_boxes) {
    const auto file = make_jpeg(size, GetParam(), seed);
    const auto stored = store_coefficients(file);
    ASSERT_TRUE(stored.has_value());
    libjpeg_.open(file);
    const PixelView expected = libjpeg_.decode(whole(size), expected_);
    std::mt19937 random(seed);
    for (int i = 0; i < num_boxes; ++i) {
      const Box box = i == 0 ? whole(size) : random_box(size, random);
      ASSERT_EQ(decoder_.open(*stored), size);
      const auto pixels = decoder_.decode(box, pixels_);
      ASSERT_TRUE(pixels.has_value());
      ASSERT_EQ(packed(*pixels), packed(expected.part(box)));
    }
  }

  LibjpegDecoder libjpeg_;
  StoredCoefficientsDecoder decoder_;
  PixelBuffer expected_;
  PixelBuffer pixels_;
};

TEST_P(StoredCoefficientsOf, HaveTheFilesPixels) {
  for_each_instruction_set([this] {
    check({83, 109}, 1, 40);
    check({97, 300}, 2, 40);
  });
}

TEST_P(StoredCoefficientsOf, HaveTheFilesPixelsAtAnySize) {
  for (const int height : {1, 2, 7, 8, 9, 16, 17}) {
    for (const int width : {5, 8, 15, 16, 17, 63, 64, 65, 128, 129})
      check({height, width}, static_cast<unsigned>(height * width), 3);
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds, StoredCoefficientsOf, testing::ValuesIn(common_jpeg_kinds()));

/// Whether damaged bytes were found out; if not, they have pixels.
bool is_refused(const std::vector<std::uint8_t>& bytes) {
  StoredCoefficientsDecoder decoder;
  PixelBuffer pixels;
  const auto size = decoder.open(bytes);
  if (!size || std::int64_t{size->height} * size->width > 1 << 20) return true;
  return !decoder.decode(whole(*size), pixels).has_value();
}

TEST(StoredCoefficients, EveryTruncationIsFound) {
  const auto stored = store_coefficients(make_jpeg({40, 100}, {.columns = 2, .rows = 2}, 1));
  ASSERT_FALSE(is_refused(*stored));
  for (std::size_t size = 0; size < stored->size(); ++size) {
    std::vector<std::uint8_t> cut(stored->begin(),
                                  stored->begin() + static_cast<std::ptrdiff_t>(size));
    EXPECT_TRUE(is_refused(cut)) << size;
  }
}

TEST(StoredCoefficientsFuzz, StayInsideDamagedBytes) {
  const auto stored = store_coefficients(make_jpeg({40, 100}, {.columns = 2, .rows = 2}, 1));
  int refused = 0;
  const int count = repeat_fuzzing([&](std::mt19937& random) {
    std::string bytes(stored->begin(), stored->end());
    mutate(bytes, random);
    refused += is_refused({bytes.begin(), bytes.end()}) ? 1 : 0;
  });
  EXPECT_GT(refused, count / 3);
}

}  // namespace
}  // namespace paceline::data::jpeg
