#include "paceline/dataset_tools/ct/orient.h"

#include "paceline/base/file.h"
#include "paceline/base/json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace paceline::dataset_tools {
namespace {

TEST(OrientGolden, TurnsVolumesAsNibabelDoes) {
  const auto cases = base::parse_json(base::read_file(PACELINE_GOLDEN_DIR "/ct/orient.json"));
  ASSERT_EQ(cases.size(), 64);
  for (const auto& expected : cases) {
    const data::CtVolume turned =
        orient_to_ras({.sizes = expected["sizes"].get<std::array<std::int64_t, 3>>(),
                       .affine = expected["affine"].get<volume::Affine>(),
                       .values = expected["values"].get<std::vector<float>>()});
    SCOPED_TRACE(expected["affine"].dump());
    EXPECT_EQ(turned.sizes, (expected["oriented_sizes"].get<std::array<std::int64_t, 3>>()));
    EXPECT_EQ(turned.values, expected["oriented_values"].get<std::vector<float>>());
    const auto affine = expected["oriented_affine"].get<volume::Affine>();
    for (std::size_t row = 0; row < 3; ++row)
      for (std::size_t column = 0; column < 4; ++column)
        EXPECT_NEAR(turned.affine[row][column], affine[row][column], 1e-9) << row << column;
  }
}

}  // namespace
}  // namespace paceline::dataset_tools
