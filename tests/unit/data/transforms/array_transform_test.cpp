#include "paceline/data/transforms/array_transform.h"

#include "paceline/base/error.h"
#include "paceline/data/transforms/named/geometry/random_crop.h"
#include "paceline/data/transforms/named/geometry/random_flip.h"
#include "paceline/data/transforms/named/geometry/random_horizontal_flip.h"

#include <array>
#include <numeric>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::data {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

const FieldSpec kVolume{"volume", FieldType::kFloat32, {1, 4, 4, 4}};
const FieldSpec kOrgans{"organs", FieldType::kUInt8, {4, 4, 4}};
const FieldSpec kDose{"dose", FieldType::kFloat32, {5}};
const FieldSpec kView{"view", FieldType::kUInt8, {2, 8, 8}};

/// The window of numbers 0, 1, 2, ... in an array of this size.
template <class T = std::uint8_t>
std::vector<int> taken(FieldType type, std::vector<std::int64_t> sizes, const ArrayWindow& window) {
  const FieldSpec field{"a", type, std::move(sizes)};
  std::vector<T> numbers(sample_bytes(field) / sizeof(T));
  std::iota(numbers.begin(), numbers.end(), T{0});
  std::size_t count = 1;
  for (const AxisWindow& axis : window) count *= static_cast<std::size_t>(axis.size);
  std::vector<T> result(count);
  copy_window(std::as_bytes(std::span(numbers)), field, window,
              reinterpret_cast<std::byte*>(result.data()));
  return {result.begin(), result.end()};
}

TEST(ArrayTransform, CopiesWhatIsTakenOfEachAxis) {
  const auto u8 = FieldType::kUInt8;
  EXPECT_THAT(taken(u8, {2, 3}, {{0, 2}, {0, 3}}), ElementsAre(0, 1, 2, 3, 4, 5));
  EXPECT_THAT(taken(u8, {2, 3}, {{0, 2}, {1, 2}}), ElementsAre(1, 2, 4, 5));
  EXPECT_THAT(taken(u8, {2, 3}, {{1, 1}, {0, 3}}), ElementsAre(3, 4, 5));
  EXPECT_THAT(taken(u8, {2, 3}, {{0, 2}, {0, 3, true}}), ElementsAre(2, 1, 0, 5, 4, 3));
  EXPECT_THAT(taken(u8, {2, 3}, {{0, 2, true}, {0, 3}}), ElementsAre(3, 4, 5, 0, 1, 2));
  EXPECT_THAT(taken(u8, {2, 3}, {{0, 2, true}, {1, 2, true}}), ElementsAre(5, 4, 2, 1));
  EXPECT_THAT(taken(u8, {2, 2, 2}, {{0, 2}, {0, 2, true}, {0, 2}}),
              ElementsAre(2, 3, 0, 1, 6, 7, 4, 5));
  EXPECT_THAT(taken(u8, {}, {}), ElementsAre(0));
}

TEST(ArrayTransform, CopiesNumbersOfAllWidths) {
  const ArrayWindow window{{1, 1}, {0, 3, true}};
  EXPECT_THAT(taken<std::int16_t>(FieldType::kInt16, {2, 3}, window), ElementsAre(5, 4, 3));
  EXPECT_THAT(taken<float>(FieldType::kFloat32, {2, 3}, window), ElementsAre(5, 4, 3));
  EXPECT_THAT(taken<std::int64_t>(FieldType::kInt64, {2, 3}, window), ElementsAre(5, 4, 3));
}

TEST(ArrayTransform, WindowsInWindowsEqualOneAfterTheOther) {
  for (const bool first : {false, true}) {
    for (const bool second : {false, true}) {
      const ArrayWindow window{{1, 5, first}};
      const ArrayWindow change{{2, 2, second}};
      const std::vector<int> all = taken(FieldType::kUInt8, {8}, window);
      std::vector<int> expected(all.begin() + 2, all.begin() + 4);
      if (second) std::ranges::reverse(expected);
      EXPECT_EQ(taken(FieldType::kUInt8, {8}, compose(window, change)), expected);
    }
  }
}

TEST(ArrayTransforms, OneDrawMovesAllFieldsOfASample) {
  const std::array fields{kVolume, kOrgans, kDose};
  const ArrayTransforms transforms({RandomFlipConfig{.axes = {-1, -2, -3}}}, fields);
  int flipped = 0;
  for (std::uint64_t position = 0; position < 32; ++position) {
    const auto windows = transforms.draw({1, 0, position});
    EXPECT_EQ(ArrayWindow(windows[0].begin() + 1, windows[0].end()), windows[1]);
    EXPECT_FALSE(windows[0][0].is_flipped) << "of the channel";
    EXPECT_EQ(windows[2], whole_window(kDose.sizes)) << "a vector has no such axes";
    EXPECT_EQ(windows, transforms.draw({1, 0, position})) << "a function of the key";
    flipped += windows[1] != whole_window(kOrgans.sizes) ? 1 : 0;
  }
  EXPECT_GT(flipped, 20);
  EXPECT_LT(flipped, 32);
}

TEST(ArrayTransforms, FieldsMayBeNamed) {
  const std::array fields{kVolume, kOrgans, kView};
  EXPECT_THAT([&] { ArrayTransforms({RandomFlipConfig{}}, fields); },
              ThrowsMessage<base::ConfigError>(AllOf(HasSubstr("organs and view alike"),
                                                     HasSubstr("4 and 8"),
                                                     HasSubstr("random_flip.fields"))));
  const ArrayTransforms named({RandomFlipConfig{.p = 1, .fields = {"volume", "organs"}}}, fields);
  const auto windows = named.draw({});
  EXPECT_TRUE(windows[0].back().is_flipped && windows[1].back().is_flipped);
  EXPECT_FALSE(windows[2].back().is_flipped);
  EXPECT_EQ(named.sizes_of(2), kView.sizes);
}

/// A crop to these lengths of what belongs to the organs.
RandomCropConfig organ_crop(std::vector<int> lengths) {
  RandomCropConfig crop{.fields = {"volume", "organs"}};
  crop.size.lengths = std::move(lengths);
  return crop;
}

TEST(ArrayTransforms, EachTakesOfWhatTheOneBeforeLeft) {
  const std::array fields{kView, kVolume, kOrgans};
  const ArrayTransforms transforms({RandomFlipConfig{.p = 1, .fields = {"volume", "organs"}},
                                    organ_crop({2, 3, 4}), organ_crop({2, 2, 1})},
                                   fields);
  EXPECT_EQ(transforms.sizes_of(0), kView.sizes);
  EXPECT_EQ(transforms.sizes_of(1), (std::vector<std::int64_t>{1, 2, 2, 1}));
  EXPECT_EQ(transforms.sizes_of(2), (std::vector<std::int64_t>{2, 2, 1}));
  std::array<std::set<std::int64_t>, 3> begins;
  for (std::uint64_t position = 0; position < 64; ++position) {
    const auto windows = transforms.draw({1, 0, position});
    EXPECT_EQ(windows[0], whole_window(kView.sizes)) << "is not named";
    EXPECT_EQ(ArrayWindow(windows[1].begin() + 1, windows[1].end()), windows[2]);
    for (std::size_t axis = 0; axis < 3; ++axis) {
      EXPECT_EQ(windows[2][axis].is_flipped, axis == 2);
      begins[axis].insert(windows[2][axis].begin);
    }
  }
  EXPECT_THAT(begins[0], ElementsAre(0, 1, 2));
  EXPECT_THAT(begins[1], ElementsAre(0, 1, 2)) << "two of the three of four";
  EXPECT_THAT(begins[2], ElementsAre(0, 1, 2, 3));
}

TEST(ArrayTransforms, RefusesWhatItCannotMove) {
  const auto refuses = [](const TransformConfig& transform, std::vector<FieldSpec> fields,
                          const std::string& problem) {
    EXPECT_THAT([&] { ArrayTransforms({transform}, fields); },
                ThrowsMessage<base::ConfigError>(HasSubstr(problem)));
  };
  refuses(RandomHorizontalFlipConfig{}, {kVolume}, "is for images");
  refuses(RandomFlipConfig{.fields = {"organ"}}, {kVolume, kOrgans},
          "the data have no field organ; they have volume, organs");
  refuses(RandomFlipConfig{}, {kDose}, "no field with two axes or more");
  refuses(RandomFlipConfig{.axes = {-4}}, {kOrgans}, "the last 4 axes, but field organs has 3");
  refuses(RandomFlipConfig{.p = 2}, {kOrgans}, "random_flip.p");
}

}  // namespace
}  // namespace paceline::data
