#include "paceline/data/sources/raw_dataset.h"

#include "paceline/base/error.h"

#include <numeric>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::data {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

/// Images of 2 rows and 1 column with the values 0, 1, 2 ...
RawImages counting_images(RawLayout layout, std::int64_t count) {
  auto bytes = std::make_shared<std::vector<std::uint8_t>>(static_cast<std::size_t>(6 * count));
  std::iota(bytes->begin(), bytes->end(), std::uint8_t{0});
  return {"images", bytes, bytes->data(), count, 2, 1, layout};
}

std::vector<std::uint8_t> pixels_of(RawLayout layout, std::int64_t index) {
  const RawDataset dataset(counting_images(layout, 2), {5, 0}, 6, "labels");
  StoredSample sample;
  dataset.get(index, sample);
  EXPECT_EQ(sample.height, 2);
  EXPECT_EQ(sample.width, 1);
  EXPECT_EQ(sample.label, dataset.label(index));
  return sample.bytes;
}

TEST(RawDataset, GivesRgbWhateverTheLayout) {
  EXPECT_THAT(pixels_of(RawLayout::kRgb, 1), ElementsAre(6, 7, 8, 9, 10, 11));
  EXPECT_THAT(pixels_of(RawLayout::kPlanar, 1), ElementsAre(6, 8, 10, 7, 9, 11));
  EXPECT_THAT(pixels_of(RawLayout::kGray, 1), ElementsAre(2, 2, 2, 3, 3, 3));
}

TEST(RawDataset, RefusesLabelsThatDoNotFitAndImagesWithoutSize) {
  const auto make = [](std::vector<std::int64_t> labels, std::int64_t height) {
    RawImages images = counting_images(RawLayout::kRgb, 2);
    images.height = height;
    RawDataset(std::move(images), std::move(labels), 3, "labels");
  };
  EXPECT_THAT([&] { make({1}, 2); }, ThrowsMessage<base::DataError>(AllOf(
                                         HasSubstr("labels: 1 labels"), HasSubstr("2 images"))));
  EXPECT_THAT(
      [&] {
        make({1, 3}, 2);
      },
      ThrowsMessage<base::DataError>(HasSubstr("label 3 of sample 1, expected 0 to 2")));
  EXPECT_THROW(make({1, -1}, 2), base::DataError);
  EXPECT_THAT(
      [&] {
        make({1, 2}, 0);
      },
      ThrowsMessage<base::DataError>(HasSubstr("images of 1 x 0 pixels")));
  EXPECT_THROW(make({1, 2}, std::int64_t{1} << 40), base::DataError);
}

TEST(RawDataset, FingerprintFollowsLabelsPixelsAndShape) {
  const auto of = [](std::vector<std::int64_t> labels, RawLayout layout, std::uint8_t change) {
    RawImages images = counting_images(layout, 2);
    const_cast<std::uint8_t*>(images.bytes)[3] ^= change;
    return RawDataset(std::move(images), std::move(labels), 3, "labels").fingerprint();
  };
  const std::string first = of({0, 1}, RawLayout::kRgb, 0);
  EXPECT_EQ(of({0, 1}, RawLayout::kRgb, 0), first);
  EXPECT_NE(of({0, 2}, RawLayout::kRgb, 0), first);
  EXPECT_NE(of({0, 1}, RawLayout::kRgb, 1), first);
  EXPECT_NE(of({0, 1}, RawLayout::kGray, 0), first);
}

}  // namespace
}  // namespace paceline::data
