#include "paceline/data/ct/ct_plugin.h"

#include "paceline/base/file.h"
#include "paceline/base/json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace paceline::data {
namespace {

TEST(CtPluginGolden, ReadsNiftiAsNibabelDoes) {
  const std::filesystem::path folder = std::filesystem::path(PACELINE_GOLDEN_DIR) / "ct";
  const auto cases = base::parse_json(base::read_file(folder / "nifti.json"));
  ASSERT_EQ(cases.size(), 13);
  for (const auto& expected : cases) {
    const auto file = expected["file"].get<std::string>();
    SCOPED_TRACE(file);
    const CtVolume volume = load_ct_plugin().read_nifti(folder / file, file);
    EXPECT_EQ(volume.sizes, (expected["sizes"].get<std::array<std::int64_t, 3>>()));
    const auto affine = expected["affine"].get<volume::Affine>();
    for (std::size_t row = 0; row < 3; ++row)
      for (std::size_t column = 0; column < 4; ++column)
        EXPECT_NEAR(volume.affine[row][column], affine[row][column], 1e-5) << row << " " << column;
    EXPECT_THAT(volume.values, ::testing::Pointwise(::testing::FloatEq(),
                                                    expected["values"].get<std::vector<float>>()));
  }
}

}  // namespace
}  // namespace paceline::data
