#include "paceline/dataset_tools/ct/cube.h"

#include "paceline/base/file.h"
#include "paceline/base/json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace paceline::dataset_tools {
namespace {

void expect_same_cube(const CtCube& made, const nlohmann::json& values,
                      const nlohmann::json& affine) {
  EXPECT_THAT(made.values,
              ::testing::Pointwise(::testing::FloatNear(2e-3F), values.get<std::vector<float>>()));
  const auto expected = affine.get<volume::Affine>();
  for (std::size_t row = 0; row < 3; ++row)
    for (std::size_t column = 0; column < 4; ++column)
      EXPECT_NEAR(made.affine[row][column], expected[row][column], 1e-9) << row << column;
}

TEST(CubeGolden, ResamplesAsNumpyDoes) {
  const auto cases = base::parse_json(base::read_file(PACELINE_GOLDEN_DIR "/ct/cube.json"));
  ASSERT_EQ(cases.size(), 6);
  for (const auto& expected : cases) {
    const data::CtVolume volume{.sizes = expected["sizes"].get<std::array<std::int64_t, 3>>(),
                                .affine = expected["affine"].get<volume::Affine>(),
                                .values = expected["values"].get<std::vector<float>>()};
    const CtCube cube = resample_to_cube(volume, expected["fov_mm"].get<double>(),
                                         expected["side"].get<std::int64_t>());
    SCOPED_TRACE(expected["sizes"].dump());
    expect_same_cube(cube, expected["cube"], expected["cube_affine"]);
    expect_same_cube(halve(cube), expected["half"], expected["half_affine"]);
  }
}

}  // namespace
}  // namespace paceline::dataset_tools
