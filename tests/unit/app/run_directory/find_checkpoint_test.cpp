#include "paceline/app/run_directory/find_checkpoint.h"

#include "paceline/base/error.h"
#include "paceline/base/file.h"
#include "paceline/checkpoint/directory.h"
#include "paceline/checkpoint/writer.h"
#include "rank/checkpoint/saved_runs.h"
#include "support/run_ranks.h"
#include "support/unsynced_file_system.h"

#include <fstream>
#include <limits>
#include <optional>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::app {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;

TEST(FindCheckpoint, KnowsTheFolderThatARunWasGiven) {
  const base::TempDir folder;
  const std::filesystem::path run = folder.path() / "run";
  const std::filesystem::path given = folder.path() / "given";
  std::filesystem::create_directories(run);
  std::filesystem::create_directories(given);
  std::ofstream(run / "config.yaml") << "checkpoint: {dir: " << given.string() << "}\n";
  try {
    find_checkpoint(run);
    ADD_FAILURE() << "it is empty";
  } catch (const base::CheckpointError& error) {
    EXPECT_EQ(std::string(error.what()), given.string() + " holds no usable checkpoint");
  }
}

TEST(FindCheckpoint, SaysWhenThereIsNone) {
  const base::TempDir folder;
  EXPECT_THROW(find_checkpoint(folder.path() / "absent"), base::CheckpointError);
  EXPECT_THROW(find_checkpoint(folder.path()), base::CheckpointError);
}

/// A run whose checkpoints were monitored with val/loss, of which less is better.
class NamedCheckpoint : public ::testing::Test {
 protected:
  void save(std::int64_t step, std::optional<double> loss) {
    paceline::test::run_ranks(1, [&](comm::Communicator& communicator) {
      const auto shards =
          checkpoint::shards_of(checkpoint::whole_model(0), checkpoint::Layout::kReplicated, 0, 1);
      checkpoint::SaveRequest request{
          .folder = run_ / "checkpoints", .step = step, .shards = shards};
      request.config = "checkpoint: {monitor: val/loss, mode: min}\n";
      if (loss) request.monitored = checkpoint::Monitored{"val/loss", *loss};
      save_checkpoint(request, communicator, files_);
    });
  }
  /// "step-N" of what a name stands for, or the message.
  std::string find(const std::string& suffix) const {
    try {
      return find_checkpoint(run_.string() + suffix).filename();
    } catch (const base::CheckpointError& error) {
      return error.what();
    }
  }

  base::TempDir folder_;
  fs::path run_ = folder_.path() / "run@home";
  paceline::test::UnsyncedFileSystem files_;
};

TEST_F(NamedCheckpoint, TheLastTheBestAndAStep) {
  fs::create_directories(run_);
  save(10, 0.5);
  save(20, 0.25);
  save(30, 0.75);
  save(40, std::nullopt);
  EXPECT_EQ(find(""), "step-00000040");
  EXPECT_EQ(find("@last"), "step-00000040");
  EXPECT_EQ(find("@best"), "step-00000020");
  EXPECT_EQ(find("@step-10"), "step-00000010");
  EXPECT_EQ(find("@step-00000010"), "step-00000010");
  EXPECT_EQ(find("/@best"), "step-00000020");
  EXPECT_EQ(find("/checkpoints@best"), "step-00000020");
  EXPECT_EQ(find("/checkpoints/step-00000030"), "step-00000030");
  fs::create_symlink("step-00000020", run_ / "checkpoints/best");
  for (const char* link : {"/checkpoints/best", "/checkpoints/best/"})
    EXPECT_EQ(find(link), "step-00000020") << "itself, not its link";
}

TEST_F(NamedCheckpoint, TheGuidesNameIsTheBestOfAStage) {
  const fs::path run = run_;
  run_ = run / "phases/1-coarse";
  fs::create_directories(run_);
  save(10, 0.25);
  save(20, 0.5);
  run_ = run;
  EXPECT_EQ(find("/coarse_best.pt"), "step-00000010");
  EXPECT_EQ(find("/coarse_final.pt"), "step-00000020");
  EXPECT_THAT(find("/fine_best.pt"), HasSubstr("has begun no stage fine; there are: coarse"));
}

TEST_F(NamedCheckpoint, TheBestIsTheBestThatIsWhole) {
  fs::create_directories(run_);
  save(10, 0.5);
  save(20, 0.25);
  std::ofstream(run_ / "checkpoints/step-00000020/rank-0.safetensors") << "damaged";
  save(30, std::numeric_limits<double>::quiet_NaN());
  EXPECT_EQ(find("@best"), "step-00000010");
}

TEST_F(NamedCheckpoint, AFolderOfAnotherProgramsWeightsIsItsFile) {
  const fs::path hub = folder_.path() / "hub";
  fs::create_directories(hub);
  fs::create_directories(run_);
  save(20, 0.75);
  std::ofstream(run_ / "config.yaml") << "checkpoint: {}\n";
  for (const fs::path& folder : {hub, run_}) std::ofstream(folder / "model.safetensors") << "x";
  EXPECT_EQ(locate_weights(hub), hub / "model.safetensors");
  EXPECT_EQ(locate_weights(run_).filename(), "step-00000020")
      << "a run, whatever was exported into it";
}

TEST_F(NamedCheckpoint, WeightsToStartFrom) {
  fs::create_directories(run_);
  save(10, 0.5);
  save(20, 0.75);
  const fs::path file = folder_.path() / "weights.safetensors";
  std::ofstream(file) << "looked at later";
  EXPECT_EQ(find_weights(file), file);
  EXPECT_EQ(find_weights(run_).filename(), "step-00000020");
  EXPECT_EQ(find_weights(run_.string() + "@best").filename(), "step-00000010");
  const fs::path damaged = run_ / "checkpoints/step-00000020/rank-0.safetensors";
  std::fstream(damaged, std::ios::in | std::ios::out).seekp(-1, std::ios::end) << '\x7f';
  EXPECT_THROW(find_weights(run_.string() + "@step-20"), base::CheckpointError) << "it is verified";
  const std::string other = folder_.path() / "x@best";
  for (const std::string& absent : std::vector<std::string>{"true", "", "imagenet", other}) {
    EXPECT_THAT([&] { find_weights(absent); },
                ::testing::ThrowsMessage<base::ConfigError>(
                    AllOf(HasSubstr("'" + absent + "'"), HasSubstr("RUN@best"))));
  }
}

TEST_F(NamedCheckpoint, ANameThatStandsForNoneSaysWhichThereAre) {
  fs::create_directories(run_);
  save(10, std::nullopt);
  save(20, std::nullopt);
  EXPECT_THAT(find("@best"), AllOf(HasSubstr("evaluation of 'val/loss'"),
                                   HasSubstr("there are: step-10, step-20")));
  EXPECT_THAT(find("@step-15"), HasSubstr("no checkpoint of step 15; there are: step-10, step-20"));
  for (const char* suffix : {"@first", "@", "@step-", "@step-x", "@step--1", "@step-1x"})
    EXPECT_THAT(find(suffix),
                AnyOf(HasSubstr("expected @best, @last or @step-N"), HasSubstr("no such run")))
        << suffix;
  EXPECT_THAT(find("x@best"), HasSubstr("there is no such run or checkpoint"));
}

}  // namespace
}  // namespace paceline::app
