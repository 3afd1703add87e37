#include "paceline/dataset_tools/ct/ct_manifest.h"

#include "paceline/base/error.h"
#include "support/temp_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::dataset_tools {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

CtPatient some_patient() {
  return {.code = "0123456789abcdef",
          .split = PatientSplit::kVal,
          .index = 3,
          .source = "f00d",
          .sizes = {512, 512, 100},
          .spacing_mm = {0.7, 0.7, 2.5},
          .affine = {{{1.1, 0, 0, -3}, {0, 1.1, 0, -4}, {0, 0, 1.1, 1.0 / 3}}},
          .hashes = {"aa", "bb"}};
}

TEST(CtManifest, IsReadAsItWasWritten) {
  const test::TempFolder folder;
  EXPECT_EQ(read_ct_manifest(folder.path()), std::nullopt);
  const CtManifest written{.settings = {.fov_mm = 320.5,
                                        .sides = {64, 16},
                                        .seed_mark = seed_mark(18446744073709551615U)},
                           .patients = {some_patient()}};
  folder.write(kCtManifestName, to_json(written));
  const auto read = read_ct_manifest(folder.path());
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(read->settings, written.settings);
  EXPECT_EQ(read->patients, written.patients);
}

TEST(CtManifest, TellsSeedsApartWithoutTellingThem) {
  const test::TempFolder folder;
  const CtManifest written{.settings = {.seed_mark = seed_mark(20241)}, .patients = {}};
  std::string text = to_json(written);
  EXPECT_EQ(text.find("20241"), std::string::npos);
  const std::string mark = fmt::format("\"seed_mark\": \"{}\"", seed_mark(20241));
  text.replace(text.find(mark), mark.size(), "\"seed\": 20241");  // as it was told once
  folder.write(kCtManifestName, text);
  EXPECT_EQ(read_ct_manifest(folder.path())->settings, written.settings);
}

TEST(CtManifest, TellsOfXraysWhereThereAreSome) {
  const test::TempFolder folder;
  CtManifest written{.settings = {.fov_mm = 1, .sides = {2}}, .patients = {}};
  EXPECT_EQ(to_json(written).find("xrays"), std::string::npos)
      << "as of sets before there were any";
  written.settings.xrays = CtXraySettings{.size = 128, .flip_vertically = true};
  const std::string text = to_json(written);
  EXPECT_THAT(
      to_json(written.settings),
      HasSubstr(R"("xrays":{"views":["frontal","lateral"],"size":128,"flip_vertically":true})"));
  folder.write(kCtManifestName, text);
  EXPECT_EQ(read_ct_manifest(folder.path())->settings, written.settings);
  std::string other = text;
  other.replace(other.find("lateral"), 7, "oblique");
  folder.write(kCtManifestName, other);
  EXPECT_THAT(
      [&] { read_ct_manifest(folder.path()); },
      ThrowsMessage<base::DataError>(HasSubstr("X-rays of the views [\"frontal\",\"oblique\"]")));
}

TEST(CtManifest, PatientsAreOneLine) {
  const std::string line = to_json(some_patient());
  EXPECT_EQ(line.find('\n'), std::string::npos);
  EXPECT_EQ(ct_patient_from_json(line), some_patient());
  EXPECT_THROW(ct_patient_from_json("{}"), base::DataError);
  EXPECT_THROW(ct_patient_from_json("no JSON"), base::DataError);
}

TEST(CtManifest, DamageIsOneErrorWithTheCure) {
  const test::TempFolder folder;
  const std::string sound = to_json(CtManifest{.settings = {}, .patients = {some_patient()}});
  std::string other_split = sound;
  other_split.replace(other_split.find("\"val\""), 5, "\"vol\"");
  for (const std::string& text :
       {std::string("{"), std::string("{}"), sound.substr(0, 200),
        std::string(R"({"format": "else", "version": 1})"), other_split}) {
    folder.write(kCtManifestName, text);
    EXPECT_THAT([&] { read_ct_manifest(folder.path()); },
                ThrowsMessage<base::DataError>(
                    AllOf(HasSubstr("ct_manifest.json: cannot be read"), HasSubstr("remove it"))));
  }
}

TEST(CtManifest, RefusesSettingsOfNoCubes) {
  for (const std::vector<std::int64_t>& sides :
       {std::vector<std::int64_t>{256, 128, 64}, {64}, {96, 48, 12, 3}, {1024, 1}})
    EXPECT_NO_THROW(check_settings({.fov_mm = 1, .sides = sides}));
  for (const std::vector<std::int64_t>& sides : {std::vector<std::int64_t>{},
                                                 {0},
                                                 {-2},
                                                 {2048},
                                                 {64, 64},
                                                 {64, 128},
                                                 {96, 32},
                                                 {64, 0},
                                                 {6, 3, 1},
                                                 {64, -32}})
    EXPECT_THROW(check_settings({.fov_mm = 1, .sides = sides}), base::ConfigError);
  for (const std::int64_t size : {std::int64_t{0}, std::int64_t{-3}, std::int64_t{8193}})
    EXPECT_THROW(check_settings({.xrays = CtXraySettings{.size = size}}), base::ConfigError);
  EXPECT_NO_THROW(check_settings({.xrays = CtXraySettings{}}));
  for (const double fov_mm : {0.0, -1.0, 1e5, std::numeric_limits<double>::quiet_NaN()})
    EXPECT_THROW(check_settings({.fov_mm = fov_mm}), base::ConfigError);
}

}  // namespace
}  // namespace paceline::dataset_tools
