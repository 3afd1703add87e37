#include "paceline/data/transforms/named/random_crop.h"

#include "paceline/base/error.h"
#include "unit/data/transforms/named/drawn_plan.h"

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

TEST(RandomCrop, RefusesAnImageThatIsTooSmall) {
  EXPECT_THAT(
      [] {
        plan_of(RandomCropConfig{.size = 32, .padding = 1}, {40, 29}, 0);
      },
      testing::ThrowsMessage<base::DataError>(testing::HasSubstr("image has 29 x 40")));
}

}  // namespace
}  // namespace paceline::data
