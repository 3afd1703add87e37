#include "paceline/app/run_directory/phase_folders.h"

#include "paceline/base/error.h"
#include "support/temp_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::app {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::ThrowsMessage;

TEST(PhaseFolders, AreListedByTheirNumbers) {
  const paceline::test::TempFolder run;
  EXPECT_THAT(phase_folders(run.path()), IsEmpty());
  EXPECT_FALSE(newest_phase(run.path()));
  for (const char* name : {"10-end", "2-whole", "1-head", "0-none", "notes", "3", "-4-x"})
    fs::create_directories(phase_folder(run.path(), name));
  run.write("phases/5-file", "no folder");
  EXPECT_THAT(phase_folders(run.path()),
              ElementsAre(phase_folder(run.path(), phase_folder_name(1, "head")),
                          phase_folder(run.path(), "2-whole"), phase_folder(run.path(), "10-end")));
  EXPECT_EQ(newest_phase(run.path())->filename(), "10-end") << "where none has saved";
}

TEST(PhaseFolders, AreFoundByTheGuidesNamesOfCheckpoints) {
  const paceline::test::TempFolder run;
  const fs::path best = run.path() / "stage2_best.pt";
  EXPECT_FALSE(phase_of_guide_name(best)) << "a run without phases";
  for (const char* name : {"1-stage1", "2-stage2"})
    fs::create_directories(phase_folder(run.path(), name));
  const std::string folder = phase_folder(run.path(), "2-stage2");
  EXPECT_EQ(phase_of_guide_name(best), folder + "@best");
  EXPECT_EQ(phase_of_guide_name(run.path() / "stage2_final.pt"), folder + "@last");
  for (const char* other : {"stage2.pt", "stage2_best.pth", "stage2_epoch_5.pt"})
    EXPECT_FALSE(phase_of_guide_name(run.path() / other)) << other;
  EXPECT_THAT([&] { phase_of_guide_name(run.path() / "stage3_best.pt"); },
              ThrowsMessage<base::CheckpointError>(
                  AllOf(HasSubstr("stage3_best.pt: "),
                        HasSubstr("has begun no stage stage3; there are: stage1, stage2"))));
}

}  // namespace
}  // namespace paceline::app
