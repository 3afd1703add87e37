#include "paceline/app/run_directory.h"

#include "paceline/base/error.h"
#include "support/run_ranks.h"

#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::app {
namespace {

TEST(RunDirectory, EveryRankLearnsThePath) {
  const base::TempDir folder;
  paceline::test::run_ranks(3, [&](comm::Communicator& communicator) {
    const RunDirectory directory(std::nullopt, folder.path().string(), "name", false, communicator);
    EXPECT_THAT(directory.path().string(),
                ::testing::StartsWith((folder.path() / "name-").string()));
    EXPECT_EQ(directory.checkpoint_folder(std::nullopt), directory.path() / "checkpoints");
    communicator.barrier();
  });
}

TEST(RunDirectory, EveryRankThrowsWhenTheFirstCannotMakeIt) {
  const base::TempDir folder;
  std::ofstream(folder.path() / "file") << "in the way";
  paceline::test::run_ranks(2, [&](comm::Communicator& communicator) {
    EXPECT_THAT([&] { RunDirectory(folder.path() / "file" / "run", "", "", false, communicator); },
                ::testing::Throws<base::Error>(
                    ::testing::Property(&base::Error::exit_code, base::ExitCode::kCheckpoint)));
  });
}

TEST(FindCheckpoint, SaysWhenThereIsNone) {
  const base::TempDir folder;
  EXPECT_THROW(find_checkpoint(folder.path() / "absent"), base::CheckpointError);
  EXPECT_THROW(find_checkpoint(folder.path()), base::CheckpointError);
}

}  // namespace
}  // namespace paceline::app
