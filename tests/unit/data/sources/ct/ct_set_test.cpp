#include "paceline/data/sources/ct/ct_set.h"

#include "paceline/base/error.h"
#include "paceline/base/file.h"
#include "paceline/data/dataset/dataset.h"
#include "support/data/ct_files.h"
#include "support/data/mutations.h"
#include "support/data/npy_files.h"

#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::data {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::ThrowsMessage;

class CtSetTest : public ::testing::Test {
 protected:
  CtSetTest() { files_.write(folder_); }

  std::filesystem::path place() const { return folder_.path() / "ct"; }
  CtSet open(std::optional<std::int64_t> side = {}) const {
    return open_ct_set(place(), "train", side);
  }
  template <class Error>
  void refuses(const std::string& problem) const {
    EXPECT_THAT([&] { open(); }, ThrowsMessage<Error>(HasSubstr(problem)));
  }
  std::string manifest() const { return base::read_file(place() / kCtManifestName); }
  void set_manifest(const std::string& text) const { folder_.write("ct/ct_manifest.json", text); }

  paceline::test::TempFolder folder_;
  paceline::test::CtFiles files_;
};

TEST_F(CtSetTest, HoldsThePatientsOfASplitInTheOrderOfTheArrays) {
  const CtSet set = open(4);
  EXPECT_EQ(set.fov_mm, 400);
  EXPECT_EQ(set.side, 4);
  EXPECT_EQ(set.largest_side, 8);
  ASSERT_EQ(set.patients.size(), 3u);
  EXPECT_EQ(set.patients[2].code, "train000000000002");
  EXPECT_EQ(set.patients[2].affine[1], (std::array<double, 4>{0, 50, 0, 6}));
  EXPECT_THAT(set.cubes.shape, ElementsAre(3, 4, 4, 4));
  EXPECT_EQ(open_ct_set(place(), "val", 8).patients.size(), 2u);
  EXPECT_EQ(open().side, 8) << "the largest";
}

TEST_F(CtSetTest, ASideThatWasNotMadeIsToldWhichThereAre) {
  EXPECT_THAT([&] { open(16); },
              ThrowsMessage<base::ConfigError>(AllOf(
                  HasSubstr("data.side"), HasSubstr("has volumes of 8, 4 voxels a side and none "
                                                    "of 16"))));
}

TEST_F(CtSetTest, ASplitWithoutPatientsIsAbsent) {
  files_.val = 0;
  files_.write(folder_);
  EXPECT_THAT([&] { open_ct_set(place(), "val", 8); },
              ThrowsMessage<AbsentPartError>(HasSubstr("has no patient in its split val")));
}

TEST_F(CtSetTest, AFolderThatWasNotPreparedIsRefused) {
  std::filesystem::remove(place() / kCtManifestName);
  refuses<base::DataError>("data prepare ct` has made");
}

TEST_F(CtSetTest, ScansAreToldHowTheyArePrepared) {
  std::filesystem::remove(place() / kCtManifestName);
  for (const char* scan : {"ct/7/7.nii.gz", "ct/8.nii", "ct/9/0001.dcm", "ct/9/0001.DCM",
                           "ct/9/study/series/IM0001"}) {
    folder_.write(scan, std::string(128, ' ') + "DICM");
    refuses<base::DataError>(
        "ct: holds scans of patients, which are prepared once: run `paceline "
        "data prepare ct " +
        place().string() + " DST` and write data.path=DST");
    std::filesystem::remove(folder_.path() / scan);
  }
  refuses<base::DataError>("ct_manifest.json: is not there");
}

TEST_F(CtSetTest, ADamagedManifestIsRefused) {
  const std::string sound = manifest();
  set_manifest(sound.substr(0, sound.size() / 2));
  refuses<base::DataError>("ct_manifest.json: cannot be read");
  refuses<base::DataError>("remove it and run `paceline data prepare ct` again");
  set_manifest(R"({"format": "other", "version": 1})");
  refuses<base::DataError>("ct_manifest.json: cannot be read: it is that of something else");
  set_manifest(R"({"format": "paceline ct volumes", "version": 1, "sides": []})");
  refuses<base::DataError>("it names no sides");
  for (const auto& [index, problem] : std::initializer_list<std::pair<const char*, const char*>>{
           {R"("index":1)", "two patients have the index 1"},
           {R"("index":4)", "no patient has the index 2"},
           {R"("index":999999999999)", "a patient has the index 999999999999"}}) {
    std::string text = sound;
    text.replace(text.find(R"("index":2)"), 9, index);
    set_manifest(text);
    refuses<base::DataError>(problem);
  }
}

TEST_F(CtSetTest, DamagedArraysAreRefused) {
  const std::string sound = base::read_file(place() / "train/volume_8.npy");
  folder_.write("ct/train/volume_8.npy", sound.substr(0, 900));
  refuses<base::DataError>("volume_8.npy: is cut short");
  refuses<base::DataError>("run `paceline data prepare ct` again");
  folder_.write("ct/train/volume_8.npy",
                paceline::test::npy_file<std::int16_t>("<i2", {2, 8, 8, 8}));
  refuses<base::DataError>("holds int16 (2, 8, 8, 8), expected int16 (3, 8, 8, 8)");
  folder_.write("ct/train/volume_8.npy", paceline::test::npy_file<float>("<f4", {3, 8, 8, 8}));
  refuses<base::DataError>("holds float32 (3, 8, 8, 8)");
  std::filesystem::remove(place() / "train/volume_8.npy");
  refuses<base::DataError>("volume_8.npy");
}

TEST_F(CtSetTest, XraysAreKnownByTheirNames) {
  EXPECT_THAT(xray_sizes_in(place() / "train"), IsEmpty());
  EXPECT_THAT(xray_sizes_in(place() / "absent"), IsEmpty());
  for (const char* name : {"xrays_16.npy", "xrays_8.npy", "xrays_.npy", "xrays_8b.npy",
                           "xrays_-4.npy", "my_xrays_4.npy"})
    folder_.write(std::string("ct/train/") + name, "");
  EXPECT_THAT(xray_sizes_in(place() / "train"), ElementsAre(8, 16));
}

TEST_F(CtSetTest, XraysAgreeWithPatientsAndViews) {
  const auto split = place() / "train";
  files_.write_xrays(folder_, "train", 3, 16);
  EXPECT_THAT(open_xrays(split, 16, 3, 2).shape, ElementsAre(3, 2, 16, 16));
  EXPECT_THAT([&] { open_xrays(split, 16, 3, 1); },
              ThrowsMessage<base::DataError>(
                  AllOf(HasSubstr("xrays_16.npy: holds 2 views"), HasSubstr("angles names 1"))));
  EXPECT_THAT([&] { open_xrays(split, 16, 4, 2); },
              ThrowsMessage<base::DataError>(
                  HasSubstr("holds uint16 (3, 2, 16, 16), expected uint16 (4, 2, 16, 16)")));
  folder_.write("ct/train/xrays_8.npy",
                paceline::test::npy_file<std::uint8_t>("|u1", {3, 2, 8, 8}));
  EXPECT_THAT([&] { open_xrays(split, 8, 3, 2); },
              ThrowsMessage<base::DataError>(HasSubstr("holds uint8")));
}

TEST_F(CtSetTest, CubesWithoutSizeAreRefused) {
  const std::string sound = manifest();
  for (const auto& [from, to] : std::initializer_list<std::pair<std::string, std::string>>{
           {"\"fov_mm\":400.0", "\"fov_mm\":0"},
           {"\"fov_mm\":400.0", "\"fov_mm\":-1"},
           {"\"sides\":[8,4]", "\"sides\":[0,4]"}}) {
    std::string text = sound;
    ASSERT_NE(text.find(from), std::string::npos);
    text.replace(text.find(from), from.size(), to);
    set_manifest(text);
    refuses<base::DataError>("ct_manifest.json: cannot be read: it");
  }
}

TEST_F(CtSetTest, APatientOfTwoSplitsIsRefused) {
  std::string text = manifest();
  const std::string code = "val000000000001";
  text.replace(text.find(code), code.size(), "train000000000001");
  set_manifest(text);
  refuses<base::DataError>("patient train000000000001 is there twice, in the splits train and val");
}

class CtSetFuzz : public CtSetTest {};

TEST_F(CtSetFuzz, ADamagedManifestIsRefusedOrSound) {
  const std::string sound = manifest();
  int refused = 0;
  const int count = repeat_fuzzing([&](std::mt19937& random) {
    std::string text = sound;
    mutate(text, random);
    set_manifest(text);
    try {
      const CtSet set = open();
      ASSERT_GT(set.fov_mm, 0);
      ASSERT_GT(set.side, 0);
      ASSERT_EQ(std::ssize(set.patients), set.cubes.shape.at(0));
    } catch (const base::DataError&) {
      ++refused;
    }
  });
  EXPECT_GT(refused, count / 10);
  EXPECT_LT(refused, count);
}

TEST(CtAffine, OfAHalvedCubeIsThatOfTheMeans) {
  const volume::Affine affine{{{2, 0, 0, 5}, {0, 2, 0, 6}, {0, 0, 2, 7}}};
  const volume::Affine halved = affine_of_side(affine, 8, 4);
  // The first voxel's middle lies between those of the first two.
  EXPECT_EQ(halved, (volume::Affine{{{4, 0, 0, 6}, {0, 4, 0, 7}, {0, 0, 4, 8}}}));
  EXPECT_EQ(affine_of_side(affine, 8, 8), affine);
}

}  // namespace
}  // namespace paceline::data
