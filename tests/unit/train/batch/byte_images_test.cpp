#include "paceline/train/batch/byte_images.h"

#include "paceline/data/loader/loader.h"
#include "paceline/data/loader/sample_maker.h"
#include "paceline/data/sources/synthetic.h"
#include "paceline/data/transforms/named/geometry/random_crop.h"
#include "paceline/data/transforms/named/random_erasing.h"
#include "paceline/data/transforms/normalize.h"
#include "paceline/data/transforms/pipeline.h"
#include "paceline/train/batch/batch_feed.h"
#include "support/queued_device.h"

#include <gtest/gtest.h>

namespace paceline::train {
namespace {

using paceline::test::QueuedDevice;

/// The first batch of a small training set, brought to a device.
Batch first_batch(const std::vector<data::TransformConfig>& transforms,
                  const data::ImageForm& form) {
  const auto dataset = data::open(data::SyntheticConfig{.num_samples = 12}, data::Split::kTrain);
  const data::TransformPipeline pipeline(transforms);
  data::LoaderOptions options;
  options.global_batch_size = 12;
  const auto loader = data::make_data_loader(*dataset, data::make_images(pipeline, form), options);
  QueuedDevice device;
  return BatchFeed(*loader, device).next();
}

void expect_same_floats(const std::vector<data::TransformConfig>& transforms) {
  for (const bool channels_last : {false, true}) {
    const Batch floats = first_batch(transforms, {.channels_last = channels_last});
    const Batch bytes = first_batch(transforms, {.as_bytes = true, .channels_last = channels_last});
    EXPECT_EQ(bytes.fields.at(kImages).scalar_type(), at::kFloat);
    EXPECT_EQ(bytes.fields.at(kImages).strides(), floats.fields.at(kImages).strides());
    EXPECT_TRUE(bytes.fields.at(kImages).equal(floats.fields.at(kImages)));
    EXPECT_TRUE(bytes.fields.at(kLabels).equal(floats.fields.at(kLabels)));
  }
}

TEST(ByteImages, AreNormalisedBitForBit) {
  expect_same_floats({data::RandomCropConfig{32, 4}, data::NormalizeConfig{}});
  expect_same_floats({data::RandomCropConfig{32, 4}});
}

TEST(ByteImages, AreErasedAfterwards) {
  const std::vector<data::TransformConfig> transforms{
      data::RandomCropConfig{32, 4}, data::NormalizeConfig{},
      data::RandomErasingConfig{.p = 0.5, .value = {1, 2, 3}}};
  expect_same_floats(transforms);
  expect_same_floats(
      {data::RandomCropConfig{32, 4},
       data::RandomErasingConfig{.p = 0.8, .mode = data::ErasingMode::kRand, .count = {1, 4}}});
  const Batch batch = first_batch(transforms, {.as_bytes = true});
  EXPECT_GT(batch.fields.at(kImages).select(1, 2).eq(3).sum().item<std::int64_t>(), 0);
}

}  // namespace
}  // namespace paceline::train
