#include "paceline/data/codec/jpeg_decoder.h"

#include "paceline/base/error.h"
#include "support/data/jpeg_images.h"
#include "support/data/mutations.h"
#include "support/data/test_images.h"

#include <algorithm>
#include <cstdlib>

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

/// What became of a file: its pixels, or the error.
template <class Decoder>
std::pair<std::vector<std::uint8_t>, std::string> outcome(Decoder& decoder,
                                                          const std::vector<std::uint8_t>& bytes,
                                                          unsigned seed) {
  PixelBuffer buffer;
  try {
    const ImageSize size = decoder.open(bytes);
    if (size.height > 1000 || size.width > 1000) return {};
    std::mt19937 random(seed);
    return {packed(decoder.decode(random_box(size, random), buffer)), ""};
  } catch (const base::DataError& error) {
    return {{}, error.what()};
  }
}

/// Changes some bytes, or cuts some out, anywhere but in the end marker.
void damage(std::vector<std::uint8_t>& bytes, std::mt19937& random) {
  for (int i = static_cast<int>(random() % 3); i >= 0; --i) {
    const std::size_t at = 2 + random() % (bytes.size() - 4);
    switch (random() % 8) {
      case 0:
        bytes[at] = 0xFF;
        break;
      case 1: {
        const std::size_t count = 1 + random() % std::min<std::size_t>(bytes.size() - 2 - at, 40);
        bytes.erase(bytes.begin() + static_cast<long>(at),
                    bytes.begin() + static_cast<long>(at + count));
        break;
      }
      default:
        bytes[at] ^= static_cast<std::uint8_t>(1 + random() % 255);
    }
  }
}

// The fast way leaves to libjpeg whatever is damaged, so verdicts, words and pixels must be the
// same, and no damage may make a decoder read what it does not own.
TEST(JpegDecoderFuzz, JudgesDamagedFilesAsLibjpegDoes) {
  const std::vector<JpegKind> kinds = common_jpeg_kinds();
  JpegDecoder decoder;
  jpeg::LibjpegDecoder libjpeg;
  std::size_t files = 0;
  std::size_t refused = 0;
  repeat_fuzzing([&](std::mt19937& random) {
    for (int i = 0; i < 3; ++i, ++files) {
      const JpegKind& kind = kinds[files % kinds.size()];
      const ImageSize size{40 + static_cast<int>(files % 60), 50 + static_cast<int>(files % 70)};
      auto bytes = make_jpeg(size, kind, static_cast<unsigned>(random()));
      damage(bytes, random);
      const auto seed = static_cast<unsigned>(random());
      const auto expected = outcome(libjpeg, bytes, seed);
      ASSERT_EQ(outcome(decoder, bytes, seed), expected) << "file " << files << ", " << kind;
      refused += expected.second.empty() ? 0 : 1;
    }
  });
  EXPECT_GT(refused, files / 20);
  EXPECT_LT(refused, files - files / 20);
}

}  // namespace
}  // namespace paceline::data
