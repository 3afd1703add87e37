#include "paceline/dataset_tools/ct/ct_layout.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::dataset_tools {
namespace {

using ::testing::ElementsAre;

TEST(CtLayout, HasAnArrayForEachSideAndThenTheXrays) {
  CtSettings settings{.sides = {8, 4}};
  EXPECT_THAT(ct_array_layouts(settings), ElementsAre(CtArrayLayout{"volume_8", 'i', {8, 8, 8}},
                                                      CtArrayLayout{"volume_4", 'i', {4, 4, 4}}));
  settings.xrays = CtXraySettings{.size = 6};
  const auto layouts = ct_array_layouts(settings);
  ASSERT_EQ(layouts.size(), 3);
  EXPECT_EQ(layouts[2], (CtArrayLayout{"xrays_6", 'u', {2, 6, 6}}));
  EXPECT_EQ(bytes_of(layouts[0]), 1024);
  EXPECT_EQ(bytes_of(layouts[2]), 144);
}

TEST(CtLayout, CountsBytesBeyondFourGibibytes) {
  EXPECT_EQ(bytes_of({"x", 'u', {2, 65536, 65536}}), std::uint64_t{1} << 34);
}

}  // namespace
}  // namespace paceline::dataset_tools
