#include "paceline/dataset_tools/ct/ct_xrays.h"

#include "paceline/base/error.h"
#include "paceline/data/codec/png_encoder.h"
#include "support/data/test_images.h"
#include "support/temp_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::dataset_tools {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::ThrowsMessage;

std::string picture(data::ImageSize size, std::vector<std::uint16_t> values) {
  return data::encode_gray_png({.size = size, .values = std::move(values)});
}

class CtXrays : public ::testing::Test {
 protected:
  /// Patients anna and ben, each with a scan and these files.
  std::vector<ListedPatient> patients(const std::vector<std::string>& files) {
    for (const char* const id : {"anna", "ben"})
      folder_.write(std::string(id) + "/" + id + ".nii.gz", "");
    for (const std::string& file : files) folder_.write(file, "");
    std::vector<ListedPatient> listed = list_ct_patients(folder_.path(), 0).patients;
    std::ranges::sort(listed, {}, &ListedPatient::file);
    return listed;
  }
  void expect_refusal(const std::vector<std::string>& files, const std::string& text) {
    auto listed = patients(files);
    EXPECT_THAT(
        [&] { find_xrays(listed); },
        ThrowsMessage<base::DataError>(AllOf(HasSubstr(text), HasSubstr(patient_code("ben", 0)),
                                             HasSubstr("(entry 2 of 2)"), Not(HasSubstr("ben")))));
  }

  const test::TempFolder folder_;
};

TEST_F(CtXrays, AreFoundByEachOfTheirNames) {
  for (const auto& [frontal, lateral] : {std::pair{"_pa_drr.png", "_lat_drr.png"},
                                         {"_pa.jpg", "_lat.JPEG"},
                                         {"_frontal.png", "_lateral.png"}}) {
    fs::remove_all(folder_.path() / "anna");
    fs::remove_all(folder_.path() / "ben");
    std::vector<std::string> files{"ben/ben_lat_drr", "anna/pa.png", "anna/ben_pa.png",
                                   "anna/anna_organs.nii.gz"};  // none of these
    for (const std::string id : {"anna", "ben"})
      for (const char* const ending : {frontal, lateral}) files.push_back(id + "/" + id + ending);
    auto listed = patients(files);
    EXPECT_TRUE(find_xrays(listed));
    ASSERT_EQ(listed.size(), 2);
    EXPECT_THAT(listed[1].xrays,
                ElementsAre(folder_.path() / "ben" / (std::string("ben") + frontal),
                            folder_.path() / "ben" / (std::string("ben") + lateral)));
  }
}

TEST_F(CtXrays, NeedNotBeThere) {
  auto listed = patients({"anna/anna.png"});
  EXPECT_FALSE(find_xrays(listed));
  for (const ListedPatient& patient : listed) EXPECT_THAT(patient.xrays, IsEmpty());
}

TEST_F(CtXrays, OneViewTwiceIsRefused) {
  expect_refusal({"ben/ben_pa.png", "ben/ben_pa.jpg", "ben/ben_lat.png"},
                 "has 2 files for the frontal X-ray; leave one of them");
}

TEST_F(CtXrays, TwoNamesOfOneViewAreRefused) {
  expect_refusal(
      {"ben/ben_pa.png", "ben/ben_lat.png", "ben/ben_lat_drr.png", "ben/ben_lateral.png"},
      "has 3 files for the lateral X-ray");
}

TEST_F(CtXrays, APatientWithoutAViewIsRefused) {
  expect_refusal({"anna/anna_pa.png", "anna/anna_lat.png", "ben/ben_pa.png"},
                 "has no lateral X-ray, and 1 of 2 patients lack one; expected ID_lat_drr.png, "
                 "ID_lat.png, ID_lateral.png (or .jpg, .tif, .dcm) in its folder ID");
}

TEST_F(CtXrays, APatientWithoutAnyIsRefusedWhereOthersHaveSome) {
  expect_refusal({"anna/anna_pa.png", "anna/anna_lat.png"}, "has no frontal X-ray");
}

TEST_F(CtXrays, AScanAmongOthersHasNoFolderForThem) {
  folder_.write("anna.nii.gz", "");
  auto listed = list_ct_patients(folder_.path(), 0).patients;
  folder_.write("anna_pa.png", "");
  EXPECT_FALSE(find_xrays(listed));
}

TEST_F(CtXrays, KeepTheirValuesWhereTheyHaveTheSize) {
  const std::vector<fs::path> paths{folder_.write("a.png", picture({2, 2}, {0, 1, 65535, 513})),
                                    folder_.write("b.png", picture({2, 2}, {5, 6, 7, 8}))};
  EXPECT_THAT(make_xrays(paths, {.size = 2}, "x", {}), ElementsAre(0, 1, 65535, 513, 5, 6, 7, 8));
  EXPECT_THAT(make_xrays(paths, {.size = 2, .flip_vertically = true}, "x", {}),
              ElementsAre(65535, 513, 0, 1, 7, 8, 5, 6));
}

TEST_F(CtXrays, AreMadeSmallerAndLarger) {
  const std::vector<fs::path> paths{
      folder_.write("a.png", picture({1, 1}, {40000})),
      folder_.write("b.png", picture({4, 4}, {7, 7, 0, 0, 7, 7, 0, 0, 0, 0, 7, 7, 0, 0, 7, 7}))};
  // A triangle of two pixels to both sides gives the near half 6 of 7, and the far one 1.
  EXPECT_THAT(make_xrays(paths, {.size = 2}, "x", {}),
              ElementsAre(40000, 40000, 40000, 40000, 5, 2, 2, 5));
}

TEST_F(CtXrays, MayBeDicomFiles) {
  const std::vector<fs::path> paths{folder_.write("a.dcm", ""),
                                    folder_.write("b.png", picture({1, 1}, {7}))};
  const auto read = [&](const fs::path& path, const std::string& name) {
    EXPECT_EQ(path, paths[0]);
    EXPECT_EQ(name, "x: frontal X-ray");
    return data::XrayPicture{.rows = 1, .columns = 1, .values = {0.2F}};
  };
  EXPECT_THAT(make_xrays(paths, {.size = 1}, "x", read), ElementsAre(13107, 7));
}

TEST_F(CtXrays, WhatIsWrongIsNamedWithoutThePath) {
  const fs::path good = folder_.write("doe.png", picture({1, 1}, {1}));
  const auto expect = [&](const fs::path& bad, const std::string& text) {
    EXPECT_THAT(
        [&] {
          make_xrays(std::vector{good, bad}, {.size = 2}, "patient 12", {});
        },
        ThrowsMessage<base::DataError>(
            AllOf(HasSubstr("patient 12: lateral X-ray: " + text), Not(HasSubstr("doe")))));
  };
  expect(folder_.write("doe2.png", picture({1, 2}, {1, 2})),
         "2 x 1 pixels, expected a square; crop it");
  expect(folder_.write("doe3.png", "no picture"), "neither a PNG nor a JPEG or TIFF file");
  expect(
      folder_.write("doe4.png", picture({9, 9}, std::vector<std::uint16_t>(81, 3)).substr(0, 60)),
      "damaged PNG");
  expect(folder_.path() / "doe5.png", "cannot be read: No such file");
  const std::vector<std::uint8_t> colours = data::golden_image("rgb.png");
  expect(folder_.write("doe6.png", std::string(colours.begin(), colours.end())),
         "a picture in colours");
}

}  // namespace
}  // namespace paceline::dataset_tools
