#include "paceline/dataset_tools/ct/ct_arrays.h"

#include "paceline/base/error.h"
#include "paceline/base/hash.h"
#include "support/temp_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::dataset_tools {
namespace {

constexpr std::size_t kBytes[]{16, 2, 36};

/// Three patients with a cube of 2 x 2 x 2 and one of 1, of one letter each; none for tests.
class CtArraysTest : public ::testing::Test {
 protected:
  CtArraysTest() : manifest_{.settings = {.fov_mm = 1, .sides = {2, 1}}, .patients = {}} {
    for (const char* const code : {"a", "b", "c"}) {
      CtPatient patient{.code = code,
                        .split = *code == 'b' ? PatientSplit::kVal : PatientSplit::kTrain,
                        .index = *code == 'c' ? 1 : 0,
                        .source = "5ca7"};
      for (const std::size_t size : {kBytes[0], kBytes[1]})
        patient.hashes.push_back(base::xxh3_128_hex(std::string(size, *code)));
      manifest_.patients.push_back(patient);
    }
  }
  void write() {
    write_ct_arrays(files_, folder_.path(), manifest_, old_,
                    [this](const CtPatient& patient, std::size_t array) -> std::string_view {
                      bytes_ = std::string(kBytes[array], patient.code[0]);
                      return bytes_;
                    });
  }
  CtArrays open() const { return {folder_.path(), manifest_.settings}; }

  const test::TempFolder folder_;
  base::RealFileSystem files_;
  CtManifest manifest_;
  std::vector<CtArrayLayout> old_;
  std::string bytes_;
};

TEST_F(CtArraysTest, HoldWhatWasWritten) {
  write();
  const CtArrays arrays = open();
  EXPECT_TRUE(arrays.are_those_of(manifest_));
  for (const CtPatient& patient : manifest_.patients) {
    EXPECT_TRUE(arrays.holds(patient));
    EXPECT_EQ(arrays.values(patient, 1), std::string(2, patient.code[0]));
  }
  const data::NpyArray array = data::open_npy(folder_.path() / "train" / "volume_2.npy");
  EXPECT_EQ(array.shape, (std::vector<std::int64_t>{2, 2, 2, 2}));
  EXPECT_EQ(array.kind, 'i');
  EXPECT_EQ(array.item_size, 2);
  EXPECT_FALSE(std::filesystem::exists(folder_.path() / "test"));
  EXPECT_EQ(read_ct_manifest(folder_.path())->patients, manifest_.patients);
}

TEST_F(CtArraysTest, HoldNothingThatIsMissingOrDamaged) {
  EXPECT_FALSE(open().holds(manifest_.patients[0]));
  EXPECT_FALSE(open().are_those_of(manifest_));
  write();
  const auto path = folder_.path() / "train" / "volume_1.npy";
  std::string bytes = base::read_file(path);
  bytes.back() ^= 1;
  folder_.write("train/volume_1.npy", bytes);
  EXPECT_TRUE(open().holds(manifest_.patients[0]));
  EXPECT_TRUE(open().holds(manifest_.patients[1]));
  EXPECT_FALSE(open().holds(manifest_.patients[2]));
  folder_.write("train/volume_1.npy", bytes.substr(0, bytes.size() - 1));
  EXPECT_FALSE(open().holds(manifest_.patients[0]));
  CtPatient elsewhere = manifest_.patients[1];
  elsewhere.index = 1;
  EXPECT_FALSE(open().holds(elsewhere));
  EXPECT_THROW(open().values(elsewhere, 0), base::InternalError);
}

TEST_F(CtArraysTest, HoldXraysAndLoseThemAgain) {
  write();
  const CtManifest without = manifest_;
  manifest_.settings.xrays = CtXraySettings{.size = 3};
  for (CtPatient& patient : manifest_.patients)
    patient.hashes.push_back(base::xxh3_128_hex(std::string(kBytes[2], patient.code[0])));
  EXPECT_FALSE(open().are_those_of(manifest_));
  write();
  EXPECT_TRUE(open().are_those_of(manifest_));
  for (const CtPatient& patient : manifest_.patients) {
    EXPECT_TRUE(open().holds(patient));
    EXPECT_EQ(open().values(patient, 2), std::string(kBytes[2], patient.code[0]));
  }
  const data::NpyArray array = data::open_npy(folder_.path() / "train" / "xrays_3.npy");
  EXPECT_EQ(array.shape, (std::vector<std::int64_t>{2, 2, 3, 3}));
  EXPECT_EQ(array.kind, 'u');
  EXPECT_EQ(array.item_size, 2);
  EXPECT_FALSE(CtArrays(folder_.path(), without.settings).holds(manifest_.patients[0]));
  old_ = ct_array_layouts(manifest_.settings);
  manifest_ = without;
  write();
  EXPECT_TRUE(open().holds(manifest_.patients[0]));
  EXPECT_FALSE(std::filesystem::exists(folder_.path() / "train" / "xrays_3.npy"));
  EXPECT_FALSE(std::filesystem::exists(folder_.path() / "val" / "xrays_3.npy"));
}

TEST_F(CtArraysTest, SplitsWithoutPatientsLoseTheirArraysAlone) {
  write();
  folder_.write("val/notes.txt", "of somebody");
  manifest_.patients.erase(manifest_.patients.begin() + 1);
  EXPECT_FALSE(open().are_those_of(manifest_));
  write();
  EXPECT_TRUE(open().are_those_of(manifest_));
  EXPECT_FALSE(std::filesystem::exists(folder_.path() / "val" / "volume_2.npy"));
  EXPECT_TRUE(std::filesystem::exists(folder_.path() / "val" / "notes.txt"));
}

}  // namespace
}  // namespace paceline::dataset_tools
