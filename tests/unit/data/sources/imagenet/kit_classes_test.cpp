#include "paceline/data/sources/imagenet/kit_classes.h"

#include "paceline/base/error.h"
#include "paceline/base/hash.h"

#include <algorithm>
#include <vector>

#include <gtest/gtest.h>

namespace paceline::data {
namespace {

std::vector<std::string> kit_wnids() {
  std::vector<std::string> wnids;
  for (std::int64_t number = 1; number <= kNumKitClasses; ++number)
    wnids.push_back(wnid_of_kit_class(number));
  return wnids;
}

TEST(KitClasses, AreThePublishedOnes) {
  std::string lines;
  for (const std::string& wnid : kit_wnids()) lines += wnid + "\n";
  // Two public lists agree on all of them: what meta.mat says, and the ids that the published
  // labels of the 50,000 validation images have where the kit's ground truth has these numbers.
  EXPECT_EQ(base::xxh3(lines), 15296069293686975618u);
  EXPECT_EQ(wnid_of_kit_class(1), "n02119789");
  EXPECT_EQ(wnid_of_kit_class(1000), "n03255030");
}

TEST(KitClasses, HaveTheirUsualPlacesWhenSorted) {
  std::vector<std::string> sorted = kit_wnids();
  std::ranges::sort(sorted);
  EXPECT_EQ(std::ranges::adjacent_find(sorted), sorted.end());
  EXPECT_EQ(sorted.front(), "n01440764");
  EXPECT_EQ(sorted.back(), "n15075141");
  EXPECT_EQ(sorted[65], wnid_of_kit_class(490));
  EXPECT_EQ(sorted[970], wnid_of_kit_class(361));
}

TEST(KitClasses, AreNumberedFromOne) {
  EXPECT_THROW(wnid_of_kit_class(0), base::InternalError);
  EXPECT_THROW(wnid_of_kit_class(1001), base::InternalError);
}

}  // namespace
}  // namespace paceline::data
