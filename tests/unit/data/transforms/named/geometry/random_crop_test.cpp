#include "paceline/data/transforms/named/geometry/random_crop.h"

#include "paceline/base/error.h"
#include "paceline/data/transforms/array_transform.h"
#include "unit/data/transforms/named/drawn_plan.h"

#include <array>
#include <map>

#include <gmock/gmock.h>

namespace paceline::data {
namespace {

TEST(RandomCrop, ReachesEveryPlaceOfThePaddedImage) {
  std::map<int, int> tops;
  std::map<int, int> lefts;
  for (std::uint64_t position = 0; position < 2000; ++position) {
    const Box box = crop_of(RandomCropConfig{.size = 32, .padding = 4}, {32, 32}, position);
    EXPECT_EQ(box.size(), (ImageSize{32, 32}));
    ++tops[box.top];
    ++lefts[box.left];
  }
  for (const auto& counts : {tops, lefts}) {
    EXPECT_EQ(counts.size(), 9u);
    EXPECT_EQ(counts.begin()->first, -4);
    for (const auto& [place, count] : counts) EXPECT_NEAR(count, 2000 / 9, 60) << place;
  }
}

TEST(RandomCrop, SaysWhatThePaddingIs) {
  const auto padding_of = [](const RandomCropConfig& config) {
    return std::get<CropStep>(plan_of(config, {32, 32}, 0).at(0)).outside;
  };
  EXPECT_EQ(padding_of({.size = 32, .padding = 4}), EdgePadding::kConstant);
  EXPECT_EQ(padding_of({.size = 32, .padding = 4, .padding_mode = EdgePadding::kReflect}),
            EdgePadding::kReflect);
}

TEST(RandomCrop, RefusesAnImageThatIsTooSmall) {
  EXPECT_THAT(
      [] {
        plan_of(RandomCropConfig{.size = 32, .padding = 1}, {40, 29}, 0);
      },
      testing::ThrowsMessage<base::DataError>(testing::HasSubstr("image has 29 x 40")));
}

TEST(RandomCrop, TakesHeightAndWidth) {
  std::map<int, int> lefts;
  for (std::uint64_t position = 0; position < 200; ++position) {
    const Box box = crop_of(RandomCropConfig{.size = {4, 2}}, {4, 5}, position);
    EXPECT_EQ(box.size(), (ImageSize{4, 2}));
    EXPECT_EQ(box.top, 0);
    ++lefts[box.left];
  }
  EXPECT_EQ(lefts.size(), 4u);
}

TEST(RandomCrop, CutsArraysAlongEachAxis) {
  RandomCropConfig config;
  config.size.lengths = {2, 4, 1};
  const auto transform = make(config);
  const ArrayTransform& arrays = *transform->for_arrays();
  EXPECT_EQ(arrays.num_axes(), 3u);
  std::map<std::int64_t, int> begins;
  for (std::uint64_t position = 0; position < 300; ++position) {
    base::Philox draws(1, base::DrawPurpose::kAugmentation, 0, position);
    const ArrayWindow window = arrays.draw(std::array<std::int64_t, 3>{4, 4, 4}, draws);
    EXPECT_EQ(window[0].size, 2);
    EXPECT_EQ(window[1], (AxisWindow{0, 4, false}));
    EXPECT_EQ(window[2].size, 1);
    EXPECT_LE(window[2].begin, 3);
    ++begins[window[0].begin];
  }
  ASSERT_EQ(begins.size(), 3u);
  for (const auto& [begin, count] : begins) EXPECT_NEAR(count, 100, 40) << begin;
}

TEST(RandomCrop, RefusesWhatArraysHaveNot) {
  base::Philox draws(1, base::DrawPurpose::kAugmentation, 0, 0);
  const auto refuses = [&](const RandomCropConfig& config, const std::string& problem) {
    EXPECT_THAT(
        [&] {
          make(config)->for_arrays()->draw(std::array<std::int64_t, 2>{8, 8}, draws);
        },
        testing::ThrowsMessage<base::ConfigError>(testing::HasSubstr(problem)));
  };
  refuses({.size = 4}, "a length for each axis");
  refuses({.size = {4, 4}, .padding = 1}, "no padding");
  refuses({.size = {4, 9}}, "[4, 9] is more than the arrays have: [8, 8]");
}

}  // namespace
}  // namespace paceline::data
