#include "paceline/app/prediction/volume_folder.h"

#include "paceline/base/error.h"
#include "paceline/base/json.h"
#include "paceline/data/dataset/val_share.h"
#include "paceline/data/sources/ct/ct.h"
#include "paceline/train/tasks/volume/ct_diffusion.h"
#include "paceline/train/tasks/volume/volume_pictures.h"
#include "paceline/volume/nifti_writer.h"
#include "support/data/ct_files.h"
#include "support/temp_folder.h"
#include "support/unsynced_file_system.h"
#include "unit/app/prediction/named_patients.h"

#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::app {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

class VolumeFolderTest : public ::testing::Test {
 protected:
  /// Two samples of each patient, of 2 x 2 x 2 voxels.
  static train::Predictions predictions(std::vector<std::int64_t> indices) {
    const auto size = std::ssize(indices);
    const at::Tensor samples = at::arange(size * 16, at::kFloat).view({size, 2, 2, 2, 2}) + 0.6;
    return {{{"samples", samples}, {"mean", samples.mean(1)}, {"deviation", samples.std(1)}},
            std::move(indices),
            {}};
  }

  const paceline::test::TempFolder folder_;
  const fs::path out_ = folder_.path() / "out";
  paceline::test::UnsyncedFileSystem files_;
};

TEST_F(VolumeFolderTest, HoldsTheVolumesOfEachPatient) {
  const NamedPatients patients({"anna", "ben"});
  VolumeFolder folder(files_, out_, patients, 1);
  folder.add(predictions({1}));
  folder.add(predictions({0}));
  EXPECT_FALSE(fs::exists(out_)) << "it is not whole yet";
  folder.publish({{"step", 7}});
  const volume::Affine affine = volume::affine_of_cube(2, 320);
  const auto expect = [&](const std::string& name, const auto& values) {
    const std::string bytes = volume::gzipped_nifti_bytes({.sizes = {2, 2, 2},
                                                           .affine = affine,
                                                           .values = std::span(values),
                                                           .description = train::kSyntheticNotice});
    EXPECT_EQ(base::read_file(out_ / "ben" / name), bytes) << name;
  };
  const std::vector<std::int16_t> first{1, 2, 3, 4, 5, 6, 7, 8};
  const std::vector<std::int16_t> second{9, 10, 11, 12, 13, 14, 15, 16};
  const std::vector<std::int16_t> mean{5, 6, 7, 8, 9, 10, 11, 12};
  expect("sample_1.nii.gz", first);
  expect("sample_2.nii.gz", second);
  expect("mean.nii.gz", mean);
  const at::Tensor deviation = predictions({1}).fields.at("deviation").contiguous();
  EXPECT_NEAR(deviation.min().item<float>(), std::sqrt(32.0F), 1e-5);
  const auto* const deviations = deviation.const_data_ptr<float>();
  expect("deviation.nii.gz", std::vector<float>(deviations, deviations + 8));
  EXPECT_EQ(base::read_file(out_ / "anna/mean.nii.gz"), base::read_file(out_ / "ben/mean.nii.gz"));
  const nlohmann::json facts = base::parse_json(base::read_file(out_ / "predictions.json"));
  EXPECT_EQ(facts.at("step"), 7);
  EXPECT_EQ(facts.at("notice"), "synthetic, not for diagnosis");
  EXPECT_EQ(facts.at("patients").at(0).at("patient"), "ben");
  EXPECT_EQ(facts.at("patients").at(1).at("affine").at(0).at(0), 160);
}

TEST_F(VolumeFolderTest, OfScansLieWhereTheyDo) {
  paceline::test::CtFiles{}.write(folder_);
  const data::CtConfig config{.path = (folder_.path() / "ct").string(), .side = 4, .xray_size = 8};
  const auto scans = data::open(config, data::Split::kVal);
  EXPECT_EQ(place_of_volume(*scans, 1, 4), scans->affine(1));
  EXPECT_EQ(place_of_volume(*scans, 1, 4)[0][0], 100);
  EXPECT_EQ(place_of_volume(*scans, 1, 2), volume::affine_of_cube(2, 400)) << "of another side";
  const auto held_out =
      data::take_share(data::open(config, data::Split::kTrain), 0.9, 0, data::SharePart::kHeldOut);
  EXPECT_EQ(place_of_volume(*held_out, 0, 4), scans->affine(0));
}

TEST_F(VolumeFolderTest, ValuesThatAreNoNumbersAreRefused) {
  const NamedPatients patients({"anna"});
  train::Predictions bad = predictions({0});
  bad.fields.at("samples")[0][1][0][0][0] = std::nan("");
  EXPECT_THAT(
      [&] { VolumeFolder(files_, out_, patients, 1).add(bad); },
      ThrowsMessage<base::DivergedError>(HasSubstr("anna have values that are no numbers")));
  EXPECT_TRUE(fs::is_empty(folder_.path()));
}

TEST_F(VolumeFolderTest, ANameThatLeadsElsewhereIsRefused) {
  for (const char* const name : {"../anna", "..", ""}) {
    const NamedPatients patients({name});
    EXPECT_THAT([&] { VolumeFolder(files_, out_, patients, 1).add(predictions({0})); },
                ThrowsMessage<base::DataError>(HasSubstr("no name for a folder")));
  }
}

}  // namespace
}  // namespace paceline::app
