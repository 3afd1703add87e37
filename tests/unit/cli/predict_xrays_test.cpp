#include "paceline/cli/predict_xrays.h"

#include "paceline/base/error.h"
#include "paceline/data/codec/png_encoder.h"
#include "paceline/data/sources/ct/ct_config.h"
#include "paceline/models/ct_cascade/ct_cascade.h"
#include "support/data/ct_files.h"
#include "support/temp_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::ThrowsMessage;

TEST(TakeViews, TakesViewsOfNamesAndAngles) {
  const paceline::test::TempFolder folder;
  const std::string there = folder.write("frontal=x.png", "").string();
  std::vector<std::string> words{"frontal=a.png", "data.path=x", "90=b=c.dcm",
                                 "photos",        there,         "model=vit"};
  EXPECT_THAT(take_views(words), ElementsAre(Pair(0, "a.png"), Pair(90, "b=c.dcm")));
  EXPECT_THAT(words, ElementsAre("data.path=x", "photos", there, "model=vit"));
}

TEST(TakeViews, LeavesWordsWhereThereIsNoView) {
  std::vector<std::string> words{"oblique=a.png", "epochs=3", "photo.jpg"};
  EXPECT_THAT(take_views(words), IsEmpty());
  EXPECT_EQ(words.size(), 3);
}

TEST(TakeViews, RefusesOtherNamesAndDoubles) {
  const auto refuse = [](std::vector<std::string> words, const std::string& text) {
    EXPECT_THAT([&] { take_views(words); }, ThrowsMessage<base::ConfigError>(HasSubstr(text)));
  };
  refuse({"frontal=a.png", "oblique=b.png"}, "no view is called oblique");
  refuse({"frontal=a.png", "0=b.png"}, "the frontal view is named twice");
}

class OpenXrays : public ::testing::Test {
 protected:
  OpenXrays() {
    folder_.write("anna/anna_45.png", data::encode_gray_png({{1, 1}, {7}}));
    data_.geometry.angles = {45};
  }
  app::Recipe recipe() const {
    app::Recipe recipe;
    recipe.data.source = config::Component::of("ct", data_);
    recipe.model.network = config::Component::of("ct_cascade", model_);
    return recipe;
  }
  double fov_mm(std::optional<double> told = {}) const {
    return open_xrays({.folders = {folder_.path() / "anna"}, .fov_mm = told}, recipe(), false)
        ->constants()
        .at("fov_mm")
        .at(0);
  }

  const paceline::test::TempFolder folder_;
  data::CtConfig data_;
  models::CtCascadeConfig model_ = {.xray_size = 8, .fov_mm = 380};
};

TEST_F(OpenXrays, AreOfTheViewsAndTheSizeOfTheRecipe) {
  const auto opened = open_xrays({.folders = {folder_.path() / "anna"}}, recipe(), false);
  EXPECT_EQ(opened->size(), 1);
  EXPECT_THAT(opened->stored_fields(),
              ElementsAre(data::FieldSpec{"xrays", data::FieldType::kFloat32, {1, 8, 8}}));
  EXPECT_THAT(opened->constants().at("view_angles"), ElementsAre(45));
  const auto named =
      open_xrays({.views = {{45, folder_.path() / "anna/anna_45.png"}}}, recipe(), false);
  EXPECT_EQ(named->name(0), "patient");
}

TEST_F(OpenXrays, ShowACubeOfTheTrainingDataUnlessToldOtherwise) {
  EXPECT_EQ(fov_mm(), 380) << "model.fov_mm, as no data are known";
  paceline::test::CtFiles{.fov_mm = 300}.write(folder_);
  data_.path = (folder_.path() / "ct").string();
  EXPECT_EQ(fov_mm(), 300);
  EXPECT_EQ(fov_mm(350), 350);
}

TEST_F(OpenXrays, AFileHasToSayWhichViewItIs) {
  const auto path = folder_.path() / "anna/anna_45.png";
  EXPECT_THAT([&] { open_xrays({.folders = {path}}, recipe(), false); },
              ThrowsMessage<base::ConfigError>(HasSubstr("45=" + path.string())));
}

TEST_F(OpenXrays, AreForNoOtherNetwork) {
  app::Recipe other = recipe();
  other.data.source = config::Component{"phantoms"};
  EXPECT_THAT([&] { open_xrays({}, other, false); },
              ThrowsMessage<base::ConfigError>(HasSubstr(
                  "trained ct_cascade on phantoms, and X-rays are for model ct_cascade")));
}

}  // namespace
}  // namespace paceline::cli
