#include "paceline/dataset_tools/ct/xray_patients.h"

#include "paceline/base/error.h"
#include "paceline/data/codec/png_encoder.h"
#include "support/temp_folder.h"

#include <array>
#include <cstring>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::dataset_tools {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

constexpr std::array kAngles{0.0, 90.0};

class XrayPatientsTest : public ::testing::Test {
 protected:
  fs::path write_view(const std::string& name, std::uint16_t value) const {
    return folder_.write(name, data::encode_gray_png({{1, 1}, {value}}));
  }
  void write_patient(const std::string& id, std::uint16_t value) const {
    write_view(id + "/" + fs::path(id).filename().string() + "_pa_drr.png", value);
    write_view(id + "/" + fs::path(id).filename().string() + "_lat.png", 65535);
  }
  std::vector<std::string> names(const std::vector<fs::path>& folders) const {
    std::vector<std::string> names;
    for (const XrayPatient& patient : list_xray_patients(folders, kAngles))
      names.push_back(patient.name);
    return names;
  }
  void expect_refusal(const std::string& folder, const std::string& text) const {
    EXPECT_THAT([&] { list_xray_patients(std::vector{folder_.path() / folder}, kAngles); },
                ThrowsMessage<base::DataError>(AllOf(HasSubstr(folder), HasSubstr(text))));
  }

  const test::TempFolder folder_;
};

TEST_F(XrayPatientsTest, AreFoundInTheirFolderAndInFoldersOfSuch) {
  for (const char* const id : {"all/ben", "all/anna", "carl"}) write_patient(id, 1);
  folder_.write("all/notes.txt", "");
  EXPECT_THAT(names({folder_.path() / "all", folder_.path() / "carl/"}),
              ElementsAre("anna", "ben", "carl"));
}

TEST_F(XrayPatientsTest, OneWithoutAViewIsRefused) {
  write_patient("all/anna", 1);
  write_view("all/ben/ben_pa.png", 1);
  expect_refusal("all", "ben has no lateral X-ray; expected ID_lat_drr.png");
  expect_refusal("all/ben", "has no lateral X-ray");
  fs::remove_all(folder_.path() / "all/ben");
  fs::create_directory(folder_.path() / "all/ben");
  expect_refusal("all", "ben has no frontal X-ray");
}

TEST_F(XrayPatientsTest, TwoOfOneNameAreRefused) {
  write_patient("a/anna", 1);
  write_patient("b/anna", 1);
  EXPECT_THAT(
      [&] {
        names({folder_.path() / "a", folder_.path() / "b"});
      },
      ThrowsMessage<base::DataError>(AllOf(HasSubstr("a/anna"), HasSubstr("b/anna"))));
}

TEST_F(XrayPatientsTest, AFolderWithoutAnyIsRefused) {
  fs::create_directory(folder_.path() / "empty");
  expect_refusal("empty", "holds no patients");
  expect_refusal("gone", "cannot be listed");
}

TEST_F(XrayPatientsTest, ViewsMayBeNamedOneByOne) {
  const XrayPatient patient = xray_patient({{90, "b.png"}, {0, "a.dcm"}}, kAngles);
  EXPECT_EQ(patient.name, "patient");
  EXPECT_THAT(patient.views, ElementsAre("a.dcm", "b.png"));
  EXPECT_THAT(
      [] {
        xray_patient({{0, "a"}}, kAngles);
      },
      ThrowsMessage<base::ConfigError>(
          AllOf(HasSubstr("lateral X-ray is missing"), HasSubstr("frontal=FILE lateral=FILE"))));
  EXPECT_THAT(
      [] {
        xray_patient({{0, "a"}, {45, "b"}, {90, "c"}}, kAngles);
      },
      ThrowsMessage<base::ConfigError>(HasSubstr("45=b: the network sees no 45 view")));
}

TEST_F(XrayPatientsTest, SamplesAreXraysFromMinusOneToOne) {
  write_patient("all/anna", 13107);
  write_patient("all/ben", 0);
  const std::vector<fs::path> folders{folder_.path() / "all"};
  const XrayPatients::Form form{.angles = {0, 90},
                                .settings = {.size = 1},
                                .constants = {{"fov_mm", {400}}},
                                .read_dicom = {}};
  const XrayPatients patients(list_xray_patients(folders, kAngles), form);
  EXPECT_EQ(patients.size(), 2);
  EXPECT_EQ(patients.name(1), "ben");
  EXPECT_EQ(patients.describe(1), folders[0] / "ben");
  EXPECT_EQ(patients.constants(), form.constants);
  EXPECT_THAT(patients.stored_fields(),
              ElementsAre(data::FieldSpec{"xrays", data::FieldType::kFloat32, {2, 1, 1}}));
  data::StoredSample sample;
  patients.get(0, sample);
  ASSERT_EQ(sample.bytes.size(), 8);
  std::array<float, 2> values{};
  std::memcpy(values.data(), sample.bytes.data(), 8);
  EXPECT_FLOAT_EQ(values[0], -0.6F);
  EXPECT_EQ(values[1], 1);
  write_patient("all/anna", 13108);
  EXPECT_NE(XrayPatients(list_xray_patients(folders, kAngles), form).fingerprint(),
            patients.fingerprint());
}

TEST_F(XrayPatientsTest, EveryPictureIsReadBeforeTheFirstIsUsed) {
  write_patient("all/anna", 1);
  write_patient("all/zoe", 1);
  folder_.write("all/zoe/zoe_lat.png", "no picture");
  const std::vector<fs::path> folders{folder_.path() / "all"};
  EXPECT_THAT(
      [&] {
        XrayPatients(
            list_xray_patients(folders, kAngles),
            {.angles = {0, 90}, .settings = {.size = 1}, .constants = {}, .read_dicom = {}});
      },
      ThrowsMessage<base::DataError>(HasSubstr("zoe_lat.png: neither a PNG")));
}

}  // namespace
}  // namespace paceline::dataset_tools
