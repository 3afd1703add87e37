#include "paceline/data/sources/ct/ct_constants.h"

#include "paceline/data/dataset/subset.h"
#include "paceline/data/sources/ct/ct.h"
#include "support/data/ct_files.h"

#include <gtest/gtest.h>

namespace paceline::data {
namespace {

TEST(CtConstants, AreThoseOfTheRecipeAndTheFolder) {
  const test::TempFolder folder;
  test::CtFiles{.fov_mm = 350}.write(folder);
  CtConfig config{.path = (folder.path() / "ct").string(), .hu_window = {-200, 200}};
  config.geometry = {
      .angles = {0, 30}, .source_to_isocentre_mm = 900, .source_to_detector_mm = 1200};
  const SampleConstants constants = open(config, Split::kTrain)->constants();
  EXPECT_EQ(constants.at("hu_window"), (std::vector<double>{-200, 200}));
  EXPECT_EQ(constants.at("full_scale"), std::vector<double>{3});
  EXPECT_EQ(constants.at("fov_mm"), std::vector<double>{350});
  EXPECT_EQ(constants.at("view_angles"), (std::vector<double>{0, 30}));
  EXPECT_EQ(constants.at("cone_beam"), (std::vector<double>{900, 1200}));
  EXPECT_EQ(make_subset(open(config, Split::kTrain), 2, 0)->constants(), constants)
      << "a part of them shares them";
}

TEST(CtConstants, AParallelBeamHasNoDistances) {
  EXPECT_TRUE(ct_constants({}, 400).at("cone_beam").empty());
}

}  // namespace
}  // namespace paceline::data
