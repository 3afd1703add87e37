#include "paceline/dataset_tools/ct/ct_xrays.h"

#include "paceline/base/file.h"
#include "paceline/base/json.h"
#include "paceline/data/codec/png_encoder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace paceline::dataset_tools {
namespace {

TEST(CtXraysGolden, ResamplesAsPillowDoes) {
  const auto cases = base::parse_json(base::read_file(PACELINE_GOLDEN_DIR "/ct/ct_xrays.json"));
  ASSERT_EQ(cases.size(), 7);
  const base::TempDir folder;
  base::RealFileSystem files;
  for (const auto& expected : cases) {
    const int side = expected["side"];
    const std::filesystem::path path = folder.path() / "xray.png";
    base::write_file_atomically(
        files, path,
        data::encode_gray_png({.size = {side, side},
                               .values = expected["values"].get<std::vector<std::uint16_t>>()}));
    const std::vector<std::uint16_t> made =
        make_xrays(std::vector{path, path}, {.size = expected["size"]}, "a patient", {});
    const auto values = expected["made"].get<std::vector<double>>();
    ASSERT_EQ(made.size(), 2 * values.size());
    for (std::size_t i = 0; i < made.size(); ++i)
      EXPECT_NEAR(made[i], values[i % values.size()], 0.52) << side << " " << i;
  }
}

}  // namespace
}  // namespace paceline::dataset_tools
