#include "paceline/data/codec/jpeg_decoder.h"

#include "paceline/base/error.h"
#include "support/data/test_images.h"

#include <algorithm>

#include <gmock/gmock.h>

namespace paceline::data {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

std::vector<std::uint8_t> decode(JpegDecoder& decoder, const std::vector<std::uint8_t>& bytes) {
  PixelBuffer buffer;
  const ImageSize size = decoder.open(bytes);
  return packed(decoder.decode(whole(size), buffer));
}

class JpegCrop : public testing::TestWithParam<std::string> {};

// Every sampling, because smooth upsampling reads beyond the crop.
TEST_P(JpegCrop, HasThePixelsOfAFullDecode) {
  const std::vector<std::uint8_t> bytes = golden_image(GetParam());
  JpegDecoder decoder;
  PixelBuffer full_buffer;
  PixelBuffer crop_buffer;
  const ImageSize size = decoder.open(bytes);
  const PixelView full = decoder.decode(whole(size), full_buffer);
  std::mt19937 random(3);
  for (int i = 0; i < 300; ++i) {
    const Box box = random_box(size, random);
    decoder.open(bytes);
    const PixelView crop = decoder.decode(box, crop_buffer);
    ASSERT_EQ(packed(crop), packed(full.part(box)))
        << "top " << box.top << " left " << box.left << " height " << box.height << " width "
        << box.width;
  }
}

INSTANTIATE_TEST_SUITE_P(Samplings, JpegCrop,
                         testing::Values("444.jpg", "422.jpg", "420.jpg", "gray.jpg", "cmyk.jpg",
                                         "rgb.jpg", "progressive.jpg", "restart.jpg",
                                         "arithmetic.jpg", "mixed.jpg", "sampling_1x2.jpg",
                                         "sampling_4x1.jpg", "sampling_2x4.jpg", "narrow.jpg",
                                         "flat.jpg", "1x1.jpg"),
                         [](const auto& name) {
                           std::string text = name.param.substr(0, name.param.find('.'));
                           std::ranges::replace(text, 'x', '_');
                           return "of_" + text;
                         });

TEST(JpegDecoder, IgnoresBytesBehindTheEnd) {
  JpegDecoder decoder;
  EXPECT_EQ(decode(decoder, golden_image("garbage_behind.jpg")),
            decode(decoder, golden_image("turned.jpg")));
}

TEST(JpegDecoder, RefusesATruncatedFileWhateverTheCrop) {
  std::vector<std::uint8_t> bytes = golden_image("420.jpg");
  JpegDecoder decoder;
  for (const std::size_t size :
       {bytes.size() - 1, bytes.size() / 2, bytes.size() / 4, std::size_t{4}}) {
    bytes.resize(size);
    EXPECT_THAT([&] { decoder.open(bytes); },
                ThrowsMessage<base::DataError>(HasSubstr("truncated JPEG")));
  }
}

TEST(JpegDecoder, RefusesAFileWhosePixelsEndEarly) {
  std::vector<std::uint8_t> bytes = golden_image("420.jpg");
  bytes.resize(bytes.size() / 2);
  bytes.insert(bytes.end(), {0xFF, 0xD9});
  JpegDecoder decoder;
  EXPECT_THAT(
      [&] { decode(decoder, bytes); },
      ThrowsMessage<base::DataError>(HasSubstr("damaged JPEG: Corrupt JPEG data: premature end")));
}

TEST(JpegDecoder, RefusesADamagedHeader) {
  std::vector<std::uint8_t> bytes = golden_image("420.jpg");
  const std::uint8_t frame_marker[] = {0xFF, 0xC0};
  const auto frame = std::ranges::search(bytes, frame_marker).begin();
  frame[9] = 2;  // components
  JpegDecoder decoder;
  EXPECT_THAT([&] { decoder.open(bytes); },
              ThrowsMessage<base::DataError>(HasSubstr("damaged JPEG")));
}

TEST(JpegDecoder, RefusesAGiantBeforeItAllocates) {
  std::vector<std::uint8_t> bytes = golden_image("420.jpg");
  const std::uint8_t frame_marker[] = {0xFF, 0xC0};
  const auto frame = std::ranges::search(bytes, frame_marker).begin();
  std::fill_n(frame + 5, 4, std::uint8_t{0xF0});
  JpegDecoder decoder;
  EXPECT_THAT([&] { decoder.open(bytes); },
              ThrowsMessage<base::DataError>(HasSubstr("61680 x 61680 pixels")));
}

TEST(JpegDecoder, SurvivesAnyFlippedByteAndGoesOn) {
  const std::vector<std::uint8_t> sound = golden_image("restart.jpg");
  JpegDecoder decoder;
  const std::vector<std::uint8_t> expected = decode(decoder, sound);
  std::mt19937 random(5);
  int refused = 0;
  for (int i = 0; i < 400; ++i) {
    std::vector<std::uint8_t> bytes = sound;
    bytes[random() % bytes.size()] ^= static_cast<std::uint8_t>(1 + random() % 255);
    try {
      decode(decoder, bytes);
    } catch (const base::DataError&) {
      ++refused;
    }
  }
  EXPECT_GT(refused, 5);
  EXPECT_LT(refused, 395);
  EXPECT_EQ(decode(decoder, sound), expected);
}

}  // namespace
}  // namespace paceline::data
