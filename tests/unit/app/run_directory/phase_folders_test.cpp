#include "paceline/app/run_directory/phase_folders.h"

#include "support/temp_folder.h"

#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::app {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

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

}  // namespace
}  // namespace paceline::app
