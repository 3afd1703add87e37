#include "paceline/loggers/picture_files.h"

#include "paceline/base/log.h"
#include "paceline/metrics/picture_png.h"
#include "support/faulty_file_system.h"
#include "support/temp_folder.h"

#include <algorithm>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::loggers {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;

metrics::Picture picture(std::string name, std::uint8_t shade = 7) {
  return {std::move(name), 1, 1, {shade, shade, shade}};
}

class PictureFilesTest : public ::testing::Test {
 protected:
  /// All files in the folder, by their paths in it.
  std::vector<std::string> written() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(place_)) {
      if (entry.is_regular_file())
        names.push_back(std::filesystem::relative(entry.path(), place_).string());
    }
    std::ranges::sort(names);
    return names;
  }

  paceline::test::TempFolder folder_;
  std::filesystem::path place_ = folder_.path() / "pictures";
  paceline::test::FaultyFileSystem files_;
};

TEST_F(PictureFilesTest, EachStepHasAFolder) {
  PictureFiles sink(place_, 3, files_);
  EXPECT_FALSE(std::filesystem::exists(place_)) << "nothing was shown yet";
  sink.log_picture({.step = 5}, picture("val/slices"));
  sink.log_picture({.step = 5}, picture("val/xrays"));
  sink.log_picture({.step = 10}, picture("val_ema/slices", 9));
  sink.flush();
  EXPECT_THAT(written(), ElementsAre("step-00000005/val_slices.png", "step-00000005/val_xrays.png",
                                     "step-00000010/val_ema_slices.png"));
  EXPECT_EQ(base::read_file(place_ / "step-00000010/val_ema_slices.png"),
            metrics::encode_png(picture("val_ema/slices", 9)));
  EXPECT_THAT(sink.summarise(), IsEmpty());
}

TEST_F(PictureFilesTest, TheNewestAreKept) {
  {
    PictureFiles sink(place_, 2, files_);
    for (int step = 1; step < 12; ++step) {
      sink.log_picture({.step = step}, picture("val/slices"));
      sink.log_picture({.step = step}, picture("val/xrays"));
    }
    folder_.write("pictures/step-mine/note.txt", "not a step's");
  }  // and all is written at the end
  EXPECT_THAT(written(), ElementsAre("step-00000010/val_slices.png", "step-00000010/val_xrays.png",
                                     "step-00000011/val_slices.png", "step-00000011/val_xrays.png",
                                     "step-mine/note.txt"));
}

TEST_F(PictureFilesTest, WhatLiesBeyondAResumeGoes) {
  PictureFiles sink(place_, 20, files_);
  sink.resume_at(-1);
  for (int step : {5, 10, 15}) sink.log_picture({.step = step}, picture("val/slices"));
  sink.resume_at(10);
  EXPECT_THAT(written(),
              ElementsAre("step-00000005/val_slices.png", "step-00000010/val_slices.png"));
}

TEST_F(PictureFilesTest, AFullDiskIsOneWarningAndNoMore) {
  std::vector<std::string> lines;
  const base::LogRedirection log(
      [&](base::LogLevel, std::string_view line) { lines.emplace_back(line); });
  PictureFiles sink(place_, 20, files_);
  files_.fill_disk_after(10);
  sink.log_picture({.step = 1}, picture("val/slices"));
  sink.log_picture({.step = 2}, picture("val/slices"));
  sink.flush();
  EXPECT_THAT(lines, ElementsAre(HasSubstr("pictures logger could not write one")));
  EXPECT_THAT(sink.summarise(), ElementsAre(Pair("failed_writes", 2)));
  files_.free_disk();
  sink.log_picture({.step = 3}, picture("val/slices"));
  sink.flush();
  EXPECT_THAT(written(), ElementsAre("step-00000003/val_slices.png"));
}

TEST_F(PictureFilesTest, ARunsFolderThatIsGoneIsNotMadeAnew) {
  const base::LogRedirection log([](base::LogLevel, std::string_view) {});
  PictureFiles sink(folder_.path() / "gone/pictures", 20, files_);
  sink.log_picture({.step = 1}, picture("val/slices"));
  sink.flush();
  EXPECT_FALSE(std::filesystem::exists(folder_.path() / "gone"));
}

}  // namespace
}  // namespace paceline::loggers
