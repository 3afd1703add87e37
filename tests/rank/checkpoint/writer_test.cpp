#include "paceline/checkpoint/writer.h"

#include "paceline/checkpoint/directory.h"
#include "paceline/checkpoint/listing.h"
#include "rank/checkpoint/saved_runs.h"
#include "support/interrupted_file_system.h"
#include "support/opened_files.h"
#include "support/unsynced_file_system.h"
#include "unit/checkpoint/messages.h"

#include <set>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::checkpoint {
namespace {

namespace fs = std::filesystem;
using test::InterruptedFileSystem;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::set<std::string> names_in(const fs::path& folder) {
  std::set<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder))
    names.insert(entry.path().filename().string());
  return names;
}

class WriterTest : public ::testing::Test {
 protected:
  base::TempDir dir_;
  fs::path folder_ = dir_.path() / "checkpoints";
  test::UnsyncedFileSystem files_;
};

TEST_F(WriterTest, OneFileForEachWritingRank) {
  const fs::path replicated = save_model(folder_, 7, 1, Layout::kReplicated, 3, files_);
  EXPECT_EQ(replicated, folder_ / "step-00000007");
  EXPECT_THAT(names_in(replicated), ElementsAre("manifest.json", "rank-0.safetensors"));
  const fs::path sharded = save_model(folder_, 8, 1, Layout::kSharded, 3, files_);
  EXPECT_THAT(names_in(sharded), ElementsAre("manifest.json", "rank-0.safetensors",
                                             "rank-1.safetensors", "rank-2.safetensors"));
  EXPECT_THAT(names_in(folder_), ElementsAre("step-00000007", "step-00000008"));

  const CheckpointReader reader(sharded);
  const Manifest& manifest = reader.manifest();
  EXPECT_EQ(manifest.step, 8);
  EXPECT_EQ(manifest.environment.world_size, 3);
  EXPECT_EQ(manifest.state["clock"]["step"], 8);
  EXPECT_EQ(manifest.config, "run: {}\n");
  EXPECT_EQ(manifest.tensors[0].slices.size(), 3u);
}

TEST_F(WriterTest, ReplacesOneOfTheSameStep) {
  save_model(folder_, 7, 1, Layout::kSharded, 2, files_);
  const fs::path path = save_model(folder_, 7, 2, Layout::kReplicated, 1, files_);
  EXPECT_THAT(names_in(folder_), ElementsAre("step-00000007"));
  expect_loads(path, 2, Layout::kReplicated, 1);
}

TEST_F(WriterTest, AFullDiskAnywhereKeepsThePreviousAndSaysSo) {
  const fs::path previous = save_model(folder_, 1, 1, Layout::kSharded, 2, files_);
  InterruptedFileSystem counting;
  save_model(folder_, 2, 2, Layout::kSharded, 2, counting);
  fs::remove_all(folder_ / checkpoint_name(2));
  for (int operation = 0; operation < counting.num_operations(); ++operation) {
    InterruptedFileSystem full(operation);
    const std::string message =
        message_of([&] { save_model(folder_, 2, 2, Layout::kSharded, 2, full); });
    EXPECT_THAT(message, AllOf(HasSubstr("the checkpoint at step 2 was not saved: rank "),
                               HasSubstr("No space left on device"),
                               HasSubstr("Earlier checkpoints are untouched")));
    const bool was_renamed = fs::exists(folder_ / checkpoint_name(2));  // and only its fsync failed
    if (!was_renamed) {
      EXPECT_THAT(message, HasSubstr(previous.string())) << operation;
      EXPECT_THAT(names_in(folder_), ElementsAre("step-00000001")) << operation;
    }
    EXPECT_EQ(find_latest(folder_).path, was_renamed ? folder_ / checkpoint_name(2) : previous);
    fs::remove_all(folder_ / checkpoint_name(2));
  }
  expect_loads(previous, 1, Layout::kSharded, 2);
}

TEST_F(WriterTest, AFailedSaveIsToldByRankZerosListingAlone) {
  const fs::path previous = save_model(folder_, 1, 1, Layout::kSharded, 3, files_);
  InterruptedFileSystem full(3);
  test::OpenedFiles opened(folder_);
  EXPECT_THAT(message_of([&] { save_model(folder_, 2, 2, Layout::kSharded, 3, full); }),
              HasSubstr("the newest is " + previous.string()));
  EXPECT_EQ(opened.take()["step-00000001/manifest.json"], 1);
}

TEST_F(WriterTest, KilledAtAnyMomentLeavesAWholeCheckpoint) {
  for (int operation = 0;; ++operation) {
    fs::remove_all(folder_);
    save_model(folder_, 1, 1, Layout::kSharded, 2, files_);
    InterruptedFileSystem dying(operation, InterruptedFileSystem::Fault::kDeath);
    bool has_finished = false;
    try {
      save_model(folder_, 2, 2, Layout::kSharded, 2, dying);
      has_finished = true;
    } catch (const base::CheckpointError&) {
    }
    clean_leftovers(files_, folder_);  // the next run
    const Latest latest = find_latest(folder_);
    ASSERT_TRUE(latest.path.has_value()) << operation;
    EXPECT_TRUE(latest.skipped.empty()) << operation;
    const double offset = latest.path->filename() == "step-00000002" ? 2 : 1;
    EXPECT_LE(names_in(folder_).size(), offset == 2 ? 2u : 1u) << operation;
    expect_loads(*latest.path, offset, Layout::kSharded, 2);
    if (has_finished) {
      EXPECT_EQ(offset, 2);
      break;
    }
    ASSERT_LT(operation, 100);
  }
}

TEST_F(WriterTest, WithoutAnEarlierCheckpointTheMessageSaysThat) {
  InterruptedFileSystem full(3);
  EXPECT_THAT(message_of([&] { save_model(folder_, 2, 2, Layout::kReplicated, 1, full); }),
              HasSubstr("There is no earlier checkpoint"));
}

TEST_F(WriterTest, ATensorThatNobodyWritesWholeIsNotSaved) {
  const auto shards = shards_of(whole_model(1), Layout::kSharded, 0, 2);  // half of everything
  test::run_ranks(1, [&](comm::Communicator& communicator) {
    const SaveRequest request{.folder = folder_,
                              .step = 1,
                              .shards = shards,
                              .state = {},
                              .config = {},
                              .monitored = {},
                              .environment = {}};
    EXPECT_THAT(message_of([&] { save_checkpoint(request, communicator, files_); }),
                HasSubstr("tensor 'conv.weight' has 12 elements saved of 24"));
  });
  EXPECT_TRUE(names_in(folder_).empty());
}

TEST_F(WriterTest, ARankThatIsLostIsNotWaitedForForEver) {
  EXPECT_THROW(test::run_ranks(2,
                               [&](comm::Communicator& communicator) {
                                 if (communicator.rank() == 1) throw std::runtime_error("died");
                                 const auto shards =
                                     shards_of(whole_model(1), Layout::kReplicated, 0, 2);
                                 const SaveRequest request{.folder = folder_,
                                                           .step = 1,
                                                           .shards = shards,
                                                           .state = {},
                                                           .config = {},
                                                           .monitored = {},
                                                           .environment = {}};
                                 save_checkpoint(request, communicator, files_);
                               }),
               std::runtime_error);
  EXPECT_FALSE(fs::exists(folder_ / checkpoint_name(1)));
}

}  // namespace
}  // namespace paceline::checkpoint
