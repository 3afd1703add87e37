#include "paceline/app/prediction/picture_folder.h"

#include "paceline/base/error.h"
#include "paceline/metrics/picture_png.h"
#include "paceline/train/tasks/volume/ct_diffusion.h"
#include "support/temp_folder.h"
#include "support/unsynced_file_system.h"
#include "unit/app/prediction/named_patients.h"
#include "unit/nn/volume/scaled_cascade.h"

#include <filesystem>
#include <memory>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::app {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kPictureSide = 12;

class PictureFolderTest : public ::testing::Test {
 protected:
  PictureFolderTest() {
    task_.take_constants({{"hu_window", {-1000, 3000}},
                          {"full_scale", {3}},
                          {"fov_mm", {400}},
                          {"view_angles", {0, 90}},
                          {"cone_beam", {}},
                          {"ray_method", {0}}});
  }
  /// Each patient is denser than the one before.
  static train::Predictions predictions(std::vector<std::int64_t> indices) {
    const std::int64_t side = kPictureSide;
    const auto size = std::ssize(indices);
    const at::Tensor mean = at::arange(size, at::kFloat).view({size, 1, 1, 1}) * 200 - 900;
    tensor::Fields fields{{"mean", mean.expand({size, side, side, side}).contiguous()},
                          {"deviation", at::full({size, side, side, side}, 50.0F)},
                          {"xrays", at::zeros({size, 2, side, side})}};
    return {std::move(fields), std::move(indices), {}};
  }
  std::string written(const std::string& name) const { return base::read_file(out_ / name); }

  const paceline::test::TempFolder folder_;
  const fs::path out_ = folder_.path() / "shown" / "here";
  paceline::test::UnsyncedFileSystem files_;
  const NamedPatients patients_{{"anna", "ben", "folder/carl"}};
  train::CtDiffusion task_{
      std::make_shared<nn::ScaledCascade>(std::vector<std::int64_t>{kPictureSide}), {.samples = 2}};
};

TEST_F(PictureFolderTest, HoldsThePicturesOfEachPatient) {
  PictureFolder folder(files_, out_, task_, patients_, at::kCPU);
  const train::Predictions two = predictions({1, 0});
  folder.add(two);
  for (const auto& [name, row] : {std::pair<std::string, std::int64_t>{"ben", 0}, {"anna", 1}}) {
    const auto shown = task_.pictures_of_prediction(
        two.fields.map([&](const at::Tensor& field) { return field[row]; }));
    ASSERT_EQ(shown.size(), 2u);
    EXPECT_EQ(written(name + "_slices.png"), metrics::encode_png(shown[0]));
    EXPECT_EQ(written(name + "_xrays.png"), metrics::encode_png(shown[1]));
  }
  EXPECT_NE(written("anna_slices.png"), written("ben_slices.png"));
}

TEST_F(PictureFolderTest, TheTruthIsShownWhereItIsKnown) {
  PictureFolder folder(files_, out_, task_, patients_, at::kCPU);
  train::Predictions one = predictions({0});
  folder.add(one);
  const std::string without = written("anna_slices.png");
  one.fields.set("volume", at::full({1, kPictureSide, kPictureSide, kPictureSide}, -1.0F));
  folder.add(one);
  EXPECT_NE(written("anna_slices.png"), without);
}

TEST_F(PictureFolderTest, ANameLeadsNowhereElseAndOtherFilesStay) {
  fs::create_directories(out_);
  base::write_file_atomically(files_, out_ / "other.txt", "stays");
  PictureFolder(files_, out_, task_, patients_, at::kCPU).add(predictions({2}));
  EXPECT_TRUE(fs::exists(out_ / "folder_carl_slices.png"));
  EXPECT_EQ(written("other.txt"), "stays");
}

TEST_F(PictureFolderTest, AFolderThatCannotBeMadeIsToldBeforeAnythingIsDrawn) {
  fs::create_directories(out_.parent_path());
  base::write_file_atomically(files_, out_, "a file");
  EXPECT_THROW(PictureFolder(files_, out_, task_, patients_, at::kCPU), base::Error);
}

}  // namespace
}  // namespace paceline::app
