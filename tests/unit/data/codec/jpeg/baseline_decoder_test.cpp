#include "paceline/data/codec/jpeg/baseline_decoder.h"

#include "paceline/data/codec/jpeg/libjpeg_decoder.h"
#include "support/data/instruction_sets.h"
#include "support/data/jpeg_images.h"
#include "support/data/test_images.h"

namespace paceline::data::jpeg {
namespace {

class BaselineDecoderOf : public testing::TestWithParam<JpegKind> {
 protected:
  /// Compares boxes with the whole image by libjpeg.
  void check(ImageSize size, unsigned seed, int num_boxes) {
    const auto file = make_jpeg(size, GetParam(), seed);
    libjpeg_.open(file);
    const PixelView expected = libjpeg_.decode(whole(size), expected_);
    std::mt19937 random(seed);
    for (int i = 0; i < num_boxes; ++i) {
      const Box box = i == 0 ? whole(size) : random_box(size, random);
      ASSERT_EQ(decoder_.open(file), size);
      const auto pixels = decoder_.decode(box, pixels_);
      ASSERT_TRUE(pixels.has_value());
      ASSERT_EQ(packed(*pixels), packed(expected.part(box)))
          << size.height << " x " << size.width << ", box " << box.top << " " << box.left << " "
          << box.height << " " << box.width;
    }
  }

  LibjpegDecoder libjpeg_;
  BaselineDecoder decoder_;
  PixelBuffer expected_;
  PixelBuffer pixels_;
};

TEST_P(BaselineDecoderOf, GivesLibjpegsPixelsOfAnyBox) {
  for_each_instruction_set([this] {
    check({83, 109}, 1, 60);
    check({97, 200}, 2, 40);
  });
}

TEST_P(BaselineDecoderOf, GivesLibjpegsPixelsAtAnySize) {
  // Below five columns libjpeg upsamples narrow chroma in another way.
  const int min_width = GetParam().columns == 2 ? 5 : 1;
  for (int height = 1; height <= 34; ++height) {
    for (int width = min_width; width <= 34; width += 1 + height % 3) {
      check({height, width}, static_cast<unsigned>(height * width), 3);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds, BaselineDecoderOf, testing::ValuesIn(common_jpeg_kinds()));

TEST(BaselineDecoder, LeavesDamagedDataToLibjpeg) {
  auto file = make_jpeg({64, 64}, {}, 1);
  BaselineDecoder decoder;
  PixelBuffer pixels;
  ASSERT_TRUE(decoder.open(file).has_value());
  ASSERT_TRUE(decoder.decode({0, 0, 64, 64}, pixels).has_value());
  file.resize(file.size() / 2);
  file.insert(file.end(), {0xFF, 0xD9});
  ASSERT_TRUE(decoder.open(file).has_value());
  EXPECT_FALSE(decoder.decode({0, 0, 64, 64}, pixels).has_value());
  EXPECT_TRUE(decoder.decode({0, 0, 8, 64}, pixels).has_value());
}

}  // namespace
}  // namespace paceline::data::jpeg
