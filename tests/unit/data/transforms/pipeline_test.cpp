#include "paceline/data/transforms/pipeline.h"

#include "paceline/base/error.h"
#include "paceline/data/transforms/named/color/color_jitter.h"
#include "paceline/data/transforms/named/color/random_grayscale.h"
#include "paceline/data/transforms/named/geometry/center_crop.h"
#include "paceline/data/transforms/named/geometry/random_affine.h"
#include "paceline/data/transforms/named/geometry/random_crop.h"
#include "paceline/data/transforms/named/geometry/random_flip.h"
#include "paceline/data/transforms/named/geometry/random_horizontal_flip.h"
#include "paceline/data/transforms/named/geometry/random_resized_crop.h"
#include "paceline/data/transforms/named/geometry/random_rotation.h"
#include "paceline/data/transforms/named/geometry/random_vertical_flip.h"
#include "paceline/data/transforms/named/geometry/resize.h"
#include "paceline/data/transforms/named/policies/auto_augment.h"
#include "paceline/data/transforms/named/policies/rand_augment.h"
#include "paceline/data/transforms/named/policies/trivial_augment_wide.h"
#include "paceline/data/transforms/named/presets.h"
#include "paceline/data/transforms/named/random_erasing.h"
#include "paceline/data/transforms/normalize.h"
#include "support/data/test_images.h"

#include <thread>

#include <gmock/gmock.h>

namespace paceline::data {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

std::vector<TransformConfig> everything() {
  return {RandomResizedCropConfig{.size = 40},
          RandomHorizontalFlipConfig{},
          ColorJitterConfig{0.4, 0.4, 0.4, 0.1},
          RandomCropConfig{.size = 32, .padding = 2},
          RandomVerticalFlipConfig{},
          RandomGrayscaleConfig{},
          RandAugmentConfig{.num_ops = 3, .fill = {{9, 8, 7}}},
          TrivialAugmentWideConfig{.interpolation = AffineInterpolation::kBilinear},
          AutoAugmentConfig{},
          RandomRotationConfig{},
          RandomAffineConfig{.translate = {0.1, 0.2}},
          NormalizeConfig{},
          RandomErasingConfig{}};
}

std::vector<float> run(const TransformPipeline& pipeline, const StoredSample& sample,
                       const DrawKey& key, TransformScratch& scratch,
                       PixelLayout layout = PixelLayout::kChannelsLast) {
  const ImageSize size = pipeline.output_size();
  std::vector<float> floats(static_cast<std::size_t>(3 * size.height * size.width));
  pipeline.run(sample, key, scratch, {floats.data(), layout});
  return floats;
}

TEST(TransformPipeline, KnowsItsOutputSize) {
  EXPECT_EQ(TransformPipeline(imagenet_train(160)).output_size(), (ImageSize{160, 160}));
  EXPECT_EQ(TransformPipeline(imagenet_eval(256, 224)).output_size(), (ImageSize{224, 224}));
  EXPECT_EQ(TransformPipeline({CenterCropConfig{50}, ResizeConfig{20}}).output_size(),
            (ImageSize{20, 20}));
}

TEST(TransformPipeline, RefusesImagesOfDifferentSizes) {
  const auto make = [](std::vector<TransformConfig> transforms) {
    return [=] { TransformPipeline{transforms}; };
  };
  EXPECT_THAT(make({ResizeConfig{256}, NormalizeConfig{}}),
              ThrowsMessage<base::ConfigError>(HasSubstr("center_crop")));
  EXPECT_THAT(make({}), ThrowsMessage<base::ConfigError>(HasSubstr("different sizes")));
}

TEST(TransformPipeline, ImagesThatAreAllOfOneSizeNeedNoCrop) {
  const InputSize input{{2, 4}, "first.png", "data.eval_transforms"};
  const TransformPipeline pipeline({ResizeConfig{4}, NormalizeConfig{}}, input);
  EXPECT_EQ(pipeline.output_size(), (ImageSize{4, 8}));
  EXPECT_EQ(TransformPipeline({CenterCropConfig{3}}, input).output_size(), (ImageSize{3, 3}));
  TransformScratch scratch;
  StoredSample sample{std::vector<std::uint8_t>(2 * 4 * 3, 100), 4, 2, 0};
  EXPECT_EQ(run(pipeline, sample, {}, scratch).size(), 3u * 4 * 8);
  sample = {std::vector<std::uint8_t>(2 * 5 * 3, 100), 5, 2, 0};
  EXPECT_THAT([&] { run(pipeline, sample, {}, scratch); },
              ThrowsMessage<base::ConfigError>(
                  HasSubstr("data.eval_transforms leaves 10 x 4 pixels of this image and 8 x 4 of "
                            "first.png, and the images of a batch must be of one size: add "
                            "center_crop")));
}

TEST(TransformPipeline, RefusesNormalizeBeforeTheEnd) {
  EXPECT_THAT(
      [] {
        TransformPipeline({NormalizeConfig{}, CenterCropConfig{8}});
      },
      ThrowsMessage<base::ConfigError>(HasSubstr("normalize is number 1 of 2")));
}

TEST(TransformPipeline, RefusesToEraseBeforeNormalize) {
  EXPECT_THAT(
      [] {
        TransformPipeline({CenterCropConfig{8}, RandomErasingConfig{}, NormalizeConfig{}});
      },
      ThrowsMessage<base::ConfigError>(HasSubstr("random_erasing is number 2 of 3")));
  EXPECT_NO_THROW(
      TransformPipeline({CenterCropConfig{8}, NormalizeConfig{}, RandomErasingConfig{}}));
  EXPECT_NO_THROW(TransformPipeline({CenterCropConfig{8}, RandomErasingConfig{}}));
}

TEST(TransformPipeline, RefusesValuesThatItsSchemasForbid) {
  EXPECT_THAT(
      [] {
        TransformPipeline({RandomHorizontalFlipConfig{.p = 1.5}, CenterCropConfig{8}});
      },
      ThrowsMessage<base::ConfigError>(HasSubstr("random_horizontal_flip.p")));
}

TEST(TransformPipeline, RunsWhatItDraws) {
  const TransformPipeline pipeline(everything());
  const StoredSample sample = encoded_sample("420.jpg");
  TransformScratch scratch;
  Plan plan;
  for (std::uint64_t position = 0; position < 20; ++position) {
    const DrawKey key = {3, 1, position};
    pipeline.draw(key, {83, 109}, plan);
    std::vector<float> applied(3 * 32 * 32);
    pipeline.apply(sample, plan, scratch, {applied.data(), PixelLayout::kChannelsLast});
    EXPECT_EQ(run(pipeline, sample, key, scratch), applied);
  }
}

TEST(TransformPipeline, DependsOnSeedEpochAndPositionOnly) {
  const TransformPipeline pipeline(everything());
  const StoredSample sample = encoded_sample("444.jpg");
  TransformScratch used;
  TransformScratch fresh;
  const std::vector<float> first = run(pipeline, sample, {1, 2, 3}, used);
  run(pipeline, encoded_sample("rgb.png"), {5, 5, 5}, used);
  EXPECT_EQ(run(pipeline, sample, {1, 2, 3}, used), first);
  EXPECT_EQ(run(pipeline, sample, {1, 2, 3}, fresh), first);
  EXPECT_NE(run(pipeline, sample, {2, 2, 3}, used), first);
  EXPECT_NE(run(pipeline, sample, {1, 3, 3}, used), first);
  EXPECT_NE(run(pipeline, sample, {1, 2, 4}, used), first);
}

TEST(TransformPipeline, ServesManyThreads) {
  const TransformPipeline pipeline(everything());
  const StoredSample sample = encoded_sample("422.jpg");
  constexpr std::uint64_t kCount = 60;
  std::vector<std::vector<float>> alone(kCount);
  std::vector<std::vector<float>> together(kCount);
  TransformScratch scratch;
  for (std::uint64_t i = 0; i < kCount; ++i) alone[i] = run(pipeline, sample, {1, 0, i}, scratch);
  std::vector<std::jthread> threads;
  for (std::uint64_t worker = 0; worker < 3; ++worker) {
    threads.emplace_back([&, worker] {
      TransformScratch own;
      for (std::uint64_t i = worker; i < kCount; i += 3)
        together[i] = run(pipeline, sample, {1, 0, i}, own);
    });
  }
  threads.clear();
  EXPECT_EQ(together, alone);
}

TEST(TransformPipeline, WritesPlanesOfTheSameNumbers) {
  const TransformPipeline pipeline(everything());
  const StoredSample sample = encoded_sample("444.jpg");
  TransformScratch scratch;
  const std::vector<float> triples = run(pipeline, sample, {1, 1, 1}, scratch);
  const std::vector<float> planes = run(pipeline, sample, {1, 1, 1}, scratch, PixelLayout::kPlanar);
  for (std::size_t pixel = 0; pixel < 32 * 32; ++pixel) {
    for (std::size_t channel = 0; channel < 3; ++channel) {
      ASSERT_EQ(planes[channel * 32 * 32 + pixel], triples[3 * pixel + channel]);
    }
  }
}

// Whoever gets bytes can make of them what the pipeline writes as floats.
TEST(TransformPipeline, WritesTheBytesBeforeNormalisation) {
  const TransformPipeline pipeline(everything());
  EXPECT_TRUE(pipeline.erases());
  const StoredSample sample = encoded_sample("444.jpg");
  const NormalizeTable table(pipeline.normalization());
  TransformScratch scratch;
  int erasings = 0;
  for (std::uint64_t position = 0; position < 40; ++position) {
    std::vector<std::uint8_t> bytes(3 * 32 * 32);
    const auto erased = pipeline.run(sample, {1, 1, position}, scratch, ByteSink{bytes.data()});
    std::vector<float> floats;
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      floats.push_back(table.value(static_cast<int>(i % 3), bytes[i]));
    }
    for (const EraseStep& step : erased) {
      fill_box({floats.data()}, {32, 32}, step);
      ++erasings;
    }
    ASSERT_EQ(floats, run(pipeline, sample, {1, 1, position}, scratch)) << position;

    Plan plan;
    pipeline.draw({1, 1, position}, {83, 109}, plan);
    std::vector<std::uint8_t> applied(bytes.size());
    EXPECT_EQ(pipeline.apply(sample, plan, scratch, ByteSink{applied.data()}).size(),
              erased.size());
    EXPECT_EQ(applied, bytes);
  }
  EXPECT_GT(erasings, 5);
  EXPECT_FALSE(TransformPipeline(imagenet_eval()).erases());
}

TEST(TransformPipeline, GoesOnAfterABadSample) {
  const TransformPipeline pipeline(imagenet_eval(40, 32));
  const StoredSample sound = encoded_sample("420.jpg");
  StoredSample truncated = sound;
  truncated.bytes.resize(truncated.bytes.size() / 2);
  TransformScratch scratch;
  const std::vector<float> expected = run(pipeline, sound, {}, scratch);
  EXPECT_THAT([&] { run(pipeline, truncated, {}, scratch); },
              ThrowsMessage<base::DataError>(HasSubstr("truncated JPEG")));
  EXPECT_EQ(run(pipeline, sound, {}, scratch), expected);
}

TEST(TransformPipeline, ChecksThatAPlanEndsInItsSize) {
  const TransformPipeline pipeline({CenterCropConfig{8}});
  TransformScratch scratch;
  std::vector<float> floats(3 * 8 * 8);
  EXPECT_THROW(
      pipeline.apply(encoded_sample("420.jpg"), {CropStep{{0, 0, 9, 8}}}, scratch, {floats.data()}),
      base::InternalError);
}

TEST(TransformPipeline, ChecksThatErasingComesLastAndInside) {
  const TransformPipeline pipeline({CenterCropConfig{8}});
  TransformScratch scratch;
  std::vector<float> floats(3 * 8 * 8);
  EXPECT_THROW(
      pipeline.apply(encoded_sample("420.jpg"), {CropStep{{0, 0, 8, 8}}, EraseStep{{1, 1, 8, 2}}},
                     scratch, PixelSink{floats.data()}),
      base::InternalError);
  EXPECT_THROW(pipeline.apply(encoded_sample("420.jpg"),
                              {CropStep{{0, 0, 8, 8}}, EraseStep{{1, 1, 2, 2}}, FlipStep{}},
                              scratch, PixelSink{floats.data()}),
               base::InternalError);
}

TEST(Pipeline, WhatIsOfArraysIsRefused) {
  const auto refuses = [](const TransformConfig& transform, const std::string& problem) {
    EXPECT_THAT(
        [&] {
          TransformPipeline({transform, CenterCropConfig{8}});
        },
        ::testing::ThrowsMessage<base::ConfigError>(::testing::HasSubstr(problem)));
  };
  refuses(RandomFlipConfig{.fields = {"volume"}}, "random_flip.fields: names fields of arrays");
  refuses(RandomFlipConfig{.axes = {-1, -3}}, "axes -1 and -2, got -3");
  RandomCropConfig cube;
  cube.size.lengths = {8, 8, 8};
  refuses(cube, "random_crop.size: an image has a side or [height, width], got [8, 8, 8]");
}

}  // namespace
}  // namespace paceline::data
