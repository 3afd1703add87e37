#include "paceline/app/run_directory/run_directory.h"

#include "paceline/base/error.h"
#include "support/run_ranks.h"
#include "support/unsynced_file_system.h"

#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::app {
namespace {

/// The text of what all ranks throw.
std::string refusal(const RunPlace& place, bool is_resuming, int world_size = 1) {
  std::string text;
  paceline::test::UnsyncedFileSystem files;
  paceline::test::run_ranks(world_size, [&](comm::Communicator& communicator) {
    try {
      const RunDirectory directory(place, is_resuming, communicator, files);
      ADD_FAILURE() << "no refusal";
    } catch (const base::Error& error) {
      EXPECT_EQ(error.exit_code(), base::ExitCode::kCheckpoint);
      if (communicator.rank() == 0) text = error.what();
    }
  });
  return text;
}

TEST(RunDirectory, EveryRankLearnsThePaths) {
  const base::TempDir folder;
  paceline::test::UnsyncedFileSystem files;
  paceline::test::run_ranks(3, [&](comm::Communicator& communicator) {
    const RunDirectory directory({.parent = folder.path().string(), .name = "name"}, false,
                                 communicator, files);
    EXPECT_THAT(directory.path().string(),
                ::testing::StartsWith((folder.path() / "name-").string()));
    EXPECT_EQ(directory.checkpoint_folder(), directory.path() / "checkpoints");
    communicator.barrier();
  });
}

TEST(RunDirectory, EveryRankThrowsWhenTheFirstCannotMakeIt) {
  const base::TempDir folder;
  std::ofstream(folder.path() / "file") << "in the way";
  EXPECT_THAT(refusal({.wanted = folder.path() / "file" / "run"}, false, 2),
              ::testing::HasSubstr("file/run"));
}

TEST(RunDirectory, TwoRunsCannotShareAFolderOfCheckpoints) {
  const base::TempDir folder;
  paceline::test::UnsyncedFileSystem files;
  const std::string shared = (folder.path() / "shared").string();
  const auto place = [&](const char* run, bool saves = true) {
    return RunPlace{.wanted = folder.path() / run, .checkpoint_dir = shared, .saves = saves};
  };
  paceline::test::run_ranks(1, [&](comm::Communicator& communicator) {
    const RunDirectory first(place("first"), false, communicator, files);
    EXPECT_EQ(first.checkpoint_folder(), shared);
    for (const bool is_resuming : {false, true}) {
      EXPECT_THAT(refusal(place("second"), is_resuming),
                  ::testing::AllOf(::testing::HasSubstr(shared + " is in use by process "),
                                   ::testing::HasSubstr("choose another checkpoint.dir")));
    }
    const RunDirectory writes_none(place("third", /*saves=*/false), false, communicator, files);
  });
  std::filesystem::create_directory(shared + "/step-00000004");  // also one that is damaged
  EXPECT_THAT(refusal(place("second"), false),
              ::testing::HasSubstr("holds the checkpoints of another run"));
  paceline::test::run_ranks(1, [&](comm::Communicator& communicator) {
    const RunDirectory goes_on(place("second"), true, communicator, files);
  });
}

TEST(RunDirectory, ARunThatGoesOnHoldsItsCheckpointsThoughItSavesNone) {
  const base::TempDir folder;
  const RunPlace place{.wanted = folder.path() / "run",
                       .checkpoint_dir = (folder.path() / "shared").string(),
                       .saves = false};
  base::RealFileSystem files;
  paceline::test::run_ranks(1, [&](comm::Communicator& communicator) {
    EXPECT_FALSE(
        RunDirectory(place, /*is_resuming=*/false, communicator, files).owns_checkpoint_folder());
    const RunDirectory directory(place, /*is_resuming=*/true, communicator, files);
    EXPECT_TRUE(directory.owns_checkpoint_folder());
    EXPECT_THAT(refusal({.wanted = folder.path() / "other", .checkpoint_dir = place.checkpoint_dir},
                        /*is_resuming=*/true),
                ::testing::HasSubstr("is in use by process "));
  });
}

}  // namespace
}  // namespace paceline::app
