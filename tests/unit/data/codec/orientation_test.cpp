#include "paceline/data/codec/orientation.h"

#include "paceline/base/error.h"
#include "paceline/data/codec/image_decoder.h"
#include "paceline/data/codec/jpeg/indexed_file.h"
#include "paceline/data/codec/jpeg/store_coefficients.h"
#include "paceline/data/transforms/named/geometry/center_crop.h"
#include "paceline/data/transforms/pipeline.h"
#include "support/data/test_images.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::data {
namespace {

constexpr ImageSize kTurnedSize{61, 40};  // of turned.jpg, which says 6

/// Two rows of three pixels, whose red is 1 to 6.
std::vector<int> reds_of(const Orientation& orientation) {
  std::vector<std::uint8_t> stored(18);
  for (std::size_t i = 0; i < 6; ++i) stored[3 * i] = static_cast<std::uint8_t>(i + 1);
  std::vector<std::uint8_t> turned(18);
  const ImageSize size = orientation.turned({2, 3});
  orientation.turn({stored.data(), {2, 3}, 9}, turned.data(), std::ptrdiff_t{3} * size.width);
  std::vector<int> reds;
  for (std::size_t i = 0; i < 6; ++i) reds.push_back(turned[3 * i]);
  return reds;
}

TEST(Orientation, TurnsByEachNumber) {
  using Reds = std::vector<int>;
  EXPECT_EQ(reds_of(Orientation(1)), (Reds{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(reds_of(Orientation(2)), (Reds{3, 2, 1, 6, 5, 4}));
  EXPECT_EQ(reds_of(Orientation(3)), (Reds{6, 5, 4, 3, 2, 1}));
  EXPECT_EQ(reds_of(Orientation(4)), (Reds{4, 5, 6, 1, 2, 3}));
  EXPECT_EQ(reds_of(Orientation(5)), (Reds{1, 4, 2, 5, 3, 6}));
  EXPECT_EQ(reds_of(Orientation(6)), (Reds{4, 1, 5, 2, 6, 3}));
  EXPECT_EQ(reds_of(Orientation(7)), (Reds{6, 3, 5, 2, 4, 1}));
  EXPECT_EQ(reds_of(Orientation(8)), (Reds{3, 6, 2, 5, 1, 4}));
  EXPECT_TRUE(Orientation(0).is_upright());
  EXPECT_TRUE(Orientation(9).is_upright());
}

TEST(Orientation, KnowsWhatABoxIsMadeOf) {
  EXPECT_EQ(Orientation(6).turned({40, 61}), kTurnedSize);
  // The top left corner of the turned image is the lower left one of the stored one.
  EXPECT_EQ(Orientation(6).stored_box({0, 0, 10, 5}, {40, 61}), (Box{35, 0, 5, 10}));
  EXPECT_EQ(Orientation(2).stored_box({3, 4, 10, 5}, {40, 61}), (Box{3, 52, 10, 5}));
}

TEST(Orientation, IsReadOnlyWhereItIsAskedFor) {
  const StoredSample sample = encoded_sample("turned.jpg");
  EXPECT_EQ(read_orientation(sample.bytes), Orientation(6));
  EXPECT_EQ(ImageDecoder().open(sample.bytes), (ImageSize{40, 61}));
  EXPECT_EQ(ImageDecoder().open(sample.bytes, ExifRule::kApply), kTurnedSize);
  EXPECT_TRUE(read_orientation(encoded_sample("420.jpg").bytes).is_upright());
  EXPECT_TRUE(read_orientation(encoded_sample("rgb.png").bytes).is_upright());
}

TEST(Orientation, DamagedExifIsAsNone) {
  const std::vector<std::uint8_t> whole_file = encoded_sample("turned.jpg").bytes;
  for (const std::size_t size : {0, 2, 3, 11, 30, 40})
    EXPECT_TRUE(read_orientation(std::span(whole_file).first(size)).is_upright()) << size;
  int num_others = 0;
  for (std::size_t at = 0; at < 64; ++at) {
    std::vector<std::uint8_t> bytes = whole_file;
    bytes[at] ^= 0xFF;
    if (read_orientation(bytes) != Orientation(6)) ++num_others;
  }
  EXPECT_GT(num_others, 15);
}

TEST(Orientation, IsAppliedBeforeTheFirstTransform) {
  const StoredSample sample = encoded_sample("turned.jpg");
  PixelBuffer buffer;
  ImageDecoder decoder;
  decoder.open(sample.bytes, ExifRule::kApply);
  const PixelView turned = decoder.decode(whole(kTurnedSize), buffer);
  const TransformPipeline pipeline({CenterCropConfig{20}}, std::nullopt, ExifRule::kApply);
  TransformScratch scratch;
  std::vector<std::uint8_t> pixels(3 * 20 * 20);
  EXPECT_TRUE(pipeline.run(sample, {}, scratch, ByteSink{pixels.data()}).empty());
  EXPECT_EQ(pixels, packed(turned.part({20, 10, 20, 20})));
}

TEST(Orientation, PackedFilesKeepItAndCoefficientsRefuse) {
  const std::vector<std::uint8_t> file = encoded_sample("turned.jpg").bytes;
  const auto indexed = jpeg::index_file(file);
  ASSERT_TRUE(indexed);
  EXPECT_EQ(ImageDecoder().open(*indexed, ExifRule::kApply), kTurnedSize);
  const auto coefficients = jpeg::store_coefficients(file);
  ASSERT_TRUE(coefficients);
  EXPECT_EQ(ImageDecoder().open(*coefficients), (ImageSize{40, 61}));
  EXPECT_THAT(
      [&] { ImageDecoder().open(*coefficients, ExifRule::kApply); },
      testing::ThrowsMessage<base::DataError>(testing::HasSubstr("--mode indexed or files")));
}

}  // namespace
}  // namespace paceline::data
