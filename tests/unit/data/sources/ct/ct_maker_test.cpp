#include "paceline/data/sources/ct/ct_maker.h"

#include "paceline/base/error.h"
#include "paceline/data/sources/ct/ct_dataset.h"
#include "support/data/ct_files.h"

#include <algorithm>
#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::data {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

struct CtSample {
  std::vector<float> volume;
  std::vector<float> xrays;
  std::vector<float> clean_xrays;
  friend bool operator==(const CtSample&, const CtSample&) = default;
};

class CtMakerTest : public ::testing::Test {
 protected:
  static constexpr std::int64_t kSide = 16;
  CtMakerTest() {
    files_.sides = {kSide};
    files_.write(folder_);
  }

  CtDataset open(const CtConfig& config, bool has_xrays) const {
    return {folder_.path() / "ct", "train", config, has_xrays};
  }
  /// A sample as training, or an evaluation, sees it.
  CtSample make(const CtConfig& config, bool is_training = true, const DrawKey& key = {},
                std::int64_t index = 0) const {
    const CtDataset dataset = open(config, !(is_training && config.augment.moves()));
    const CtMaker maker(config, dataset.stored_fields(), *config.xray_size, is_training);
    StoredSample stored;
    dataset.get(index, stored);
    CtSample sample{std::vector<float>(kSide * kSide * kSide),
                    std::vector<float>(dataset.projector().num_pixels()),
                    {}};
    if (maker.fields().size() == 3) sample.clean_xrays.resize(sample.xrays.size());
    TransformScratch scratch;
    const std::array targets{reinterpret_cast<std::byte*>(sample.volume.data()),
                             reinterpret_cast<std::byte*>(sample.xrays.data()),
                             reinterpret_cast<std::byte*>(sample.clean_xrays.data())};
    maker.make(stored, key, scratch, targets);
    return sample;
  }
  CtConfig augmented(const CtAugmentationConfig& augmentation) const {
    CtConfig config = plain_;
    config.augment = augmentation;
    return config;
  }

  paceline::test::TempFolder folder_;
  paceline::test::CtFiles files_;
  CtConfig plain_{.side = kSide, .xray_size = kSide, .full_scale = 1};
};

TEST_F(CtMakerTest, FieldsAreTwoOfFloat32) {
  const CtDataset dataset = open(plain_, true);
  EXPECT_THAT(CtMaker(plain_, dataset.stored_fields(), 99, true).fields(),
              ElementsAre(FieldSpec{.name = "volume", .sizes = {16, 16, 16}},
                          FieldSpec{.name = "xrays", .sizes = {2, 16, 16}}));
  const CtDataset moved = open(plain_, false);
  EXPECT_THAT(CtMaker(plain_, moved.stored_fields(), 99, true).fields()[1].sizes,
              ElementsAre(2, 99, 99));
}

TEST_F(CtMakerTest, TheWindowIsMappedAndClamped) {
  CtConfig config = plain_;
  config.hu_window = {-900, 200};
  const CtSample sample = make(config);
  const auto cube = files_.cube("train", 0, kSide);
  EXPECT_TRUE(std::ranges::any_of(cube, [](int hu) { return hu > 200; }));
  for (std::size_t i = 0; i < cube.size(); ++i) {
    const double wanted = std::clamp((cube[i] + 900.0) / 1100 * 2 - 1, -1.0, 1.0);
    EXPECT_NEAR(sample.volume[i], wanted, 1e-6);
  }
  EXPECT_EQ(std::ranges::min(sample.volume), -1);
  EXPECT_EQ(std::ranges::max(sample.volume), 1);
}

TEST_F(CtMakerTest, XraysAreIntensitiesFromMinusOneToOne) {
  const CtSample sample = make(plain_);
  const CtDataset dataset = open(plain_, true);
  const auto cube = files_.cube("train", 0, kSide);
  std::vector<float> wanted(sample.xrays.size());
  dataset.projector().integrate(std::vector<float>(cube.begin(), cube.end()), kSide, wanted);
  for (std::size_t i = 0; i < wanted.size(); ++i)
    EXPECT_NEAR(sample.xrays[i], 2 * std::clamp(wanted[i], 0.0F, 1.0F) - 1, 1e-6);
  CtConfig half = plain_;
  half.full_scale = 2;
  const CtSample darker = make(half);
  for (std::size_t i = 0; i < wanted.size(); ++i)
    EXPECT_NEAR(darker.xrays[i], std::clamp(wanted[i] / 2, 0.0F, 1.0F) * 2 - 1, 1e-6);
}

TEST_F(CtMakerTest, NothingIsDrawnByDefault) {
  EXPECT_EQ(make(plain_, true, {.seed = 1, .epoch = 2, .position = 3}), make(plain_, false));
}

TEST_F(CtMakerTest, EvaluationsAreNeverAugmented) {
  const CtConfig config = augmented({.flip = true,
                                     .turn_degrees = 30,
                                     .shift_mm = 20,
                                     .scale = {0.8, 1.2},
                                     .gain = {0.5, 2},
                                     .photons = 1e3});
  EXPECT_EQ(make(config, /*is_training=*/false, {.seed = 5, .epoch = 1}), make(plain_, false));
  EXPECT_NE(make(config, /*is_training=*/true, {.seed = 5, .epoch = 1}), make(plain_, false));
}

TEST_F(CtMakerTest, DrawsAreAFunctionOfTheKey) {
  const CtConfig config = augmented({.turn_degrees = 10, .gain = {0.8, 1.2}, .photons = 1e4});
  const CtSample sample = make(config, true, {.seed = 5, .epoch = 1, .position = 7});
  EXPECT_EQ(make(config, true, {.seed = 5, .epoch = 1, .position = 7}), sample);
  for (const DrawKey& key : {DrawKey{.seed = 6, .epoch = 1, .position = 7},
                             DrawKey{.seed = 5, .epoch = 2, .position = 7},
                             DrawKey{.seed = 5, .epoch = 1, .position = 8}}) {
    const CtSample other = make(config, true, key);
    EXPECT_NE(other.volume, sample.volume);
    EXPECT_NE(other.xrays, sample.xrays);
  }
}

TEST_F(CtMakerTest, VolumeAndViewsMoveByOneDraw) {
  const CtConfig config =
      augmented({.flip = true, .turn_degrees = 25, .shift_mm = 30, .scale = {0.8, 1.1}});
  for (std::uint64_t epoch = 0; epoch < 4; ++epoch) {
    const DrawKey key{.seed = 3, .epoch = epoch};
    base::Philox draws(3, base::DrawPurpose::kAugmentation, epoch, 0);
    const CtDraw draw = draw_augmentation(config.augment, 2, draws);
    const auto moved =
        volume::move_cube(files_.cube("train", 0, kSide), {static_cast<int>(kSide), files_.fov_mm},
                          draw.motion, -1000);
    const CtSample sample = make(config, true, key);
    for (std::size_t i = 0; i < moved.size(); ++i)
      EXPECT_NEAR(sample.volume[i], std::clamp((moved[i] + 1000) / 2000 - 1, -1.0F, 1.0F), 1e-5);
    std::vector<float> views(sample.xrays.size());
    open(config, false).projector().integrate(moved, kSide, views);
    for (std::size_t i = 0; i < views.size(); ++i)
      EXPECT_NEAR(sample.xrays[i], 2 * std::min(views[i], 1.0F) - 1, 1e-5);
  }
}

TEST_F(CtMakerTest, StoredXraysAreNotThoseOfAMovedPatient) {
  const CtConfig config = augmented({.turn_degrees = 25, .shift_mm = 30});
  const CtDataset dataset = open(config, /*has_xrays=*/true);
  const CtMaker maker(config, dataset.stored_fields(), 16, /*is_training=*/true);
  StoredSample stored;
  dataset.get(0, stored);
  std::vector<float> volume(kSide * kSide * kSide);
  std::vector<float> xrays(2 * 256);
  TransformScratch scratch;
  const std::array targets{reinterpret_cast<std::byte*>(volume.data()),
                           reinterpret_cast<std::byte*>(xrays.data())};
  maker.make(stored, {}, scratch, targets);
  EXPECT_EQ(xrays, make(config).xrays);
}

TEST_F(CtMakerTest, AFlipMirrorsVolumeAndFrontalView) {
  const CtConfig config = augmented({.flip = true});
  const CtSample plain = make(plain_);
  int flipped = 0;
  for (std::uint64_t position = 0; position < 20; ++position) {
    const CtSample sample = make(config, true, {.position = position});
    if (sample == plain) continue;
    ++flipped;
    for (std::size_t i = 0; i < sample.volume.size(); ++i)
      ASSERT_EQ(sample.volume[i], plain.volume[i / 16 * 16 + 15 - i % 16]);
    for (std::size_t i = 0; i < 256; ++i) {
      ASSERT_NEAR(sample.xrays[i], plain.xrays[i / 16 * 16 + 15 - i % 16], 1e-5) << "frontal";
      ASSERT_NEAR(sample.xrays[256 + i], plain.xrays[256 + i], 1e-5) << "lateral";
    }
  }
  EXPECT_GT(flipped, 3);
  EXPECT_LT(flipped, 17);
}

TEST_F(CtMakerTest, GainAndNoiseAreOfXraysAlone) {
  const CtSample plain = make(plain_);
  const CtSample noisy = make(augmented({.photons = 1e5}), true);
  EXPECT_EQ(noisy.volume, plain.volume);
  EXPECT_NE(noisy.xrays, plain.xrays);
  for (std::size_t i = 0; i < plain.xrays.size(); ++i)
    EXPECT_NEAR(noisy.xrays[i], plain.xrays[i], 0.2);
  const CtSample brighter = make(augmented({.gain = {1.2, 1.3}}), true);
  EXPECT_EQ(brighter.volume, plain.volume);
  base::Philox draws(0, base::DrawPurpose::kAugmentation, 0, 0);
  const auto gains = draw_augmentation({.gain = {1.2, 1.3}}, 2, draws).gains;
  EXPECT_NE(gains[0], gains[1]);
  for (std::size_t i = 0; i < plain.xrays.size(); ++i) {
    const double intensity = (plain.xrays[i] + 1.0) / 2;
    EXPECT_NEAR(brighter.xrays[i], 2 * std::min(1.0, intensity * gains[i / 256]) - 1, 1e-5);
  }
}

TEST_F(CtMakerTest, WhatVolumesAreToAgreeWithHasNeitherGainNorNoise) {
  const CtSample plain = make(plain_);
  EXPECT_TRUE(plain.clean_xrays.empty()) << "the X-rays are that";
  for (const CtAugmentationConfig& augmentation :
       {CtAugmentationConfig{.gain = {0.5, 0.6}}, CtAugmentationConfig{.photons = 1e3}}) {
    const CtSample sample = make(augmented(augmentation));
    EXPECT_EQ(sample.clean_xrays, plain.xrays);
    EXPECT_NE(sample.xrays, plain.xrays);
    EXPECT_TRUE(make(augmented(augmentation), /*is_training=*/false).clean_xrays.empty());
  }
  const CtSample moved = make(augmented({.turn_degrees = 20, .gain = {0.5, 0.6}}));
  EXPECT_EQ(moved.clean_xrays, make(augmented({.turn_degrees = 20})).xrays);
}

TEST_F(CtMakerTest, XraysOfFilesAreTakenAsTheyAre) {
  files_.write_xrays(folder_, "train", 3, 16);
  CtConfig config = plain_;
  config.xrays = XraySource::kFiles;
  config.augment.gain = {0.5, 0.5};
  const CtSample plain = make(config, false);
  const volume::ViewRays rays({.fov_mm = 400}, 0, {16, 16});
  const auto wanted = volume::exact_view(files_.phantom("train", 0, 400), rays, 400);
  for (std::size_t i = 0; i < wanted.size(); ++i)
    EXPECT_NEAR(plain.xrays[i], 2 * std::min(wanted[i], 1.0F) - 1, 1e-4);
  const CtSample darker = make(config, true);
  for (std::size_t i = 0; i < wanted.size(); ++i)
    EXPECT_NEAR(darker.xrays[i] + 1, (plain.xrays[i] + 1) / 2, 1e-5);
}

TEST_F(CtMakerTest, DrawsStayWithinTheirRanges) {
  const CtAugmentationConfig config{
      .flip = true, .turn_degrees = 10, .shift_mm = 5, .scale = {0.9, 1.2}, .gain = {0.7, 1.1}};
  double most_turned = 0;
  for (std::uint64_t position = 0; position < 200; ++position) {
    base::Philox draws(1, base::DrawPurpose::kAugmentation, 0, position);
    const CtDraw draw = draw_augmentation(config, 2, draws);
    EXPECT_LE(std::abs(draw.motion.turn_degrees), 10);
    most_turned = std::max(most_turned, std::abs(draw.motion.turn_degrees));
    for (const double shift : draw.motion.shift_mm) EXPECT_LE(std::abs(shift), 5);
    EXPECT_GE(draw.motion.scale, 0.9);
    EXPECT_LE(draw.motion.scale, 1.2);
    for (const double gain : draw.gains) {
      EXPECT_GE(gain, 0.7);
      EXPECT_LE(gain, 1.1);
    }
  }
  EXPECT_GT(most_turned, 9);
}

TEST_F(CtMakerTest, AStoredSampleOfAnotherSizeIsRefused) {
  const CtDataset dataset = open(plain_, true);
  const CtMaker maker(plain_, dataset.stored_fields(), 16, false);
  TransformScratch scratch;
  EXPECT_THAT([&] { maker.make({.bytes = std::vector<std::uint8_t>(9)}, {}, scratch, {}); },
              ThrowsMessage<base::DataError>(HasSubstr("holds 9 bytes")));
}

}  // namespace
}  // namespace paceline::data
