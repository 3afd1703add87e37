#include "paceline/data/loader/sample_maker.h"

#include "paceline/base/error.h"
#include "paceline/data/transforms/named/geometry/center_crop.h"
#include "paceline/data/transforms/named/geometry/ten_crop.h"
#include "paceline/data/transforms/normalize.h"

#include <array>
#include <cstdint>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::data {
namespace {

using ::testing::ElementsAre;

/// 2 x 2 pixels, each of another red.
StoredSample sample_of_four() {
  StoredSample sample;
  sample.width = sample.height = 2;
  sample.label = 7;
  sample.bytes = {0, 10, 20, 51, 10, 20, 102, 10, 20, 255, 10, 20};
  return sample;
}

TEST(ImageMaker, FieldsAreThePipelinesImagesAndLabels) {
  const TransformPipeline pipeline({CenterCropConfig{2}, NormalizeConfig{}});
  const ImageMaker floats(std::make_shared<TransformPipeline>(pipeline), {.channels_last = false});
  EXPECT_EQ(floats.fields()[0].name, kImagesField);
  EXPECT_EQ(floats.fields()[0].type, FieldType::kFloat32);
  EXPECT_THAT(floats.fields()[0].sizes, ElementsAre(3, 2, 2));
  EXPECT_FALSE(floats.fields()[0].channels_last);
  EXPECT_EQ(floats.fields()[1].name, kLabelsField);
  EXPECT_FALSE(floats.byte_pixels());

  const auto bytes = make_images(pipeline, {.as_bytes = true, .channels_last = false});
  EXPECT_EQ(bytes->fields()[0].type, FieldType::kUInt8);
  EXPECT_TRUE(bytes->fields()[0].channels_last) << "bytes always are";
  ASSERT_TRUE(bytes->byte_pixels());
  EXPECT_FALSE(bytes->byte_pixels()->channels_last) << "the floats that they become";
}

TEST(ImageMaker, WritesEachFieldToItsTarget) {
  const auto maker =
      make_images(TransformPipeline({CenterCropConfig{2}}), {.channels_last = false});
  std::array<float, 12> image{};
  std::int64_t label = 0;
  TransformScratch scratch;
  maker->make(
      sample_of_four(), {}, scratch,
      std::array{reinterpret_cast<std::byte*>(image.data()), reinterpret_cast<std::byte*>(&label)});
  EXPECT_EQ(label, 7);
  EXPECT_FLOAT_EQ(image[1], 0.2f);
  EXPECT_FLOAT_EQ(image[3], 1.0f);
}

TEST(ImageMaker, WritesAllViewsOneBehindTheOther) {
  const TransformPipeline pipeline({FiveCropConfig{.size = 1}});
  const auto maker = make_images(pipeline, {.as_bytes = true, .all_views = true});
  const FieldSpec& field = maker->fields()[0];
  EXPECT_THAT(field.sizes, ElementsAre(5, 3, 1, 1));
  EXPECT_EQ(field.type, FieldType::kFloat32);
  EXPECT_FALSE(maker->byte_pixels());
  std::array<float, 15> images{};
  std::int64_t label = 0;
  TransformScratch scratch;
  maker->make(sample_of_four(), {}, scratch,
              std::array{reinterpret_cast<std::byte*>(images.data()),
                         reinterpret_cast<std::byte*>(&label)});
  EXPECT_EQ(label, 7);
  for (const auto& [view, red] : {std::pair{0u, 0.0f}, {1u, 0.2f}, {2u, 0.4f}, {3u, 1.0f}}) {
    EXPECT_FLOAT_EQ(images.at(3 * view), red) << view;
    EXPECT_FLOAT_EQ(images.at(3 * view + 2), 20 / 255.0f);
  }
  // Without views there is one, and the form stays.
  EXPECT_THAT(
      make_images(TransformPipeline({CenterCropConfig{2}}), {.all_views = true})->fields()[0].sizes,
      ElementsAre(3, 2, 2));
  EXPECT_THAT(make_images(pipeline)->fields()[0].sizes, ElementsAre(3, 1, 1));
}

TEST(ImageMaker, ListsOfLabelsBecomeTargets) {
  const auto maker = make_images(TransformPipeline({CenterCropConfig{1}}), {.num_targets = 4});
  ASSERT_EQ(maker->fields().size(), 3u);
  EXPECT_EQ(maker->fields()[2], (FieldSpec{.name = std::string(kTargetsField), .sizes = {4}}));
  std::array<float, 3> image{};
  std::int64_t label = 0;
  std::array<float, 4> targets{5, 5, 5, 5};
  TransformScratch scratch;
  const auto make_of = [&](const std::vector<std::int64_t>& labels) {
    StoredSample sample = sample_of_four();
    sample.labels = labels;
    maker->make(
        sample, {}, scratch,
        std::array{reinterpret_cast<std::byte*>(image.data()), reinterpret_cast<std::byte*>(&label),
                   reinterpret_cast<std::byte*>(targets.data())});
  };
  make_of({3, 1});
  EXPECT_THAT(targets, ElementsAre(0, 1, 0, 1));
  make_of({});
  EXPECT_THAT(targets, ElementsAre(0, 0, 0, 0));
  EXPECT_THAT(
      [&] {
        make_of({1, 4});
      },
      testing::ThrowsMessage<base::DataError>(testing::HasSubstr("one of its labels is 4")));
}

}  // namespace
}  // namespace paceline::data
