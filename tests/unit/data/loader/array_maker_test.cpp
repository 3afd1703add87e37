#include "paceline/data/loader/array_maker.h"

#include "paceline/base/error.h"
#include "paceline/data/transforms/named/geometry/random_flip.h"

#include <array>
#include <cstring>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::data {
namespace {

const FieldSpec kScan{"scan", FieldType::kInt16, {2, 2}};
const FieldSpec kLabel{"labels", FieldType::kUInt8};

StoredSample stored() {
  constexpr std::array<std::int16_t, 4> kScanned{1, 2, 3, -4};
  StoredSample sample;
  sample.label = 7;
  sample.bytes.resize(9);
  std::memcpy(sample.bytes.data(), kScanned.data(), 8);
  return sample;
}

struct Made {
  std::array<std::int16_t, 4> scan{};
  std::int64_t label = -1;
};

Made make_sample(const ArrayMaker& maker, const StoredSample& sample) {
  Made made;
  TransformScratch scratch;
  const std::array targets{reinterpret_cast<std::byte*>(made.scan.data()),
                           reinterpret_cast<std::byte*>(&made.label)};
  EXPECT_TRUE(maker.make(sample, {}, scratch, targets).empty());
  return made;
}

TEST(ArrayMaker, GivesFieldsAsTheyAreStoredAndLabelsAsTheDataSetSays) {
  const ArrayMaker maker({kScan, kLabel});
  EXPECT_EQ(maker.fields()[0], kScan);
  EXPECT_EQ(maker.fields()[1], (FieldSpec{"labels", FieldType::kInt64}));
  const Made made = make_sample(maker, stored());
  EXPECT_THAT(made.scan, ::testing::ElementsAre(1, 2, 3, -4));
  EXPECT_EQ(made.label, 7) << "which a validation part may have aligned";
}

TEST(ArrayMaker, TransformsMoveThem) {
  const ArrayMaker maker({kScan, kLabel}, {RandomFlipConfig{.axes = {-1, -2}, .p = 1}});
  EXPECT_THAT(make_sample(maker, stored()).scan, ::testing::ElementsAre(-4, 3, 2, 1));
}

TEST(ArrayMaker, ASampleOfAnotherSizeIsRefused) {
  StoredSample sample = stored();
  sample.bytes.pop_back();
  EXPECT_THAT(
      [&] {
        make_sample(ArrayMaker({kScan, kLabel}), sample);
      },
      ::testing::ThrowsMessage<base::DataError>(::testing::HasSubstr("holds 8 bytes, expected 9")));
}

}  // namespace
}  // namespace paceline::data
