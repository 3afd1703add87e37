#include "paceline/checkpoint/async_writer.h"

#include "paceline/checkpoint/directory.h"
#include "paceline/checkpoint/listing.h"
#include "rank/checkpoint/saved_runs.h"
#include "support/faulty_file_system.h"
#include "support/interrupted_file_system.h"
#include "support/unsynced_file_system.h"
#include "unit/checkpoint/messages.h"

#include <cerrno>
#include <latch>
#include <mutex>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::checkpoint {
namespace {

namespace fs = std::filesystem;
using test::InterruptedFileSystem;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class AsyncWriterTest : public ::testing::Test {
 protected:
  /// Starts to save whole_model(step) and changes the shards at once.
  void start(AsyncWriter& writer, std::int64_t step, comm::Communicator& communicator) const {
    const auto shards = shards_of(whole_model(static_cast<double>(step)), layout_,
                                  communicator.rank(), communicator.world_size());
    const SaveRequest request{.folder = folder_,
                              .step = step,
                              .shards = shards,
                              .state = {{"clock", {{"step", step}}}},
                              .config = {},
                              .monitored = {},
                              .environment = {}};
    writer.start(request, communicator);
    for (const auto& shard : shards) shard.data.zero_();
  }

  /// Saves some steps with some ranks.
  void save(int world_size, base::FileSystem& files, std::vector<std::int64_t> steps = {2}) {
    test::run_ranks(world_size, [&](comm::Communicator& communicator) {
      AsyncWriter writer(files, [&](const fs::path& path) { committed_.push_back(path); });
      writer.reserve(shards_of(whole_model(0), layout_, communicator.rank(), world_size));
      for (const std::int64_t step : steps) start(writer, step, communicator);
      writer.finish(communicator);
    });
  }

  std::vector<std::string> names() const {
    std::vector<std::string> names;
    for (const auto& entry : fs::recursive_directory_iterator(folder_))
      names.push_back(entry.path().lexically_relative(folder_).string());
    std::sort(names.begin(), names.end());
    return names;
  }

  base::TempDir dir_;
  fs::path folder_ = dir_.path() / "checkpoints";
  Layout layout_ = Layout::kSharded;
  std::vector<fs::path> committed_;  ///< by rank 0's thread; finish() comes before it is read
  test::UnsyncedFileSystem files_;
};

TEST_F(AsyncWriterTest, SavesTheShardsAsTheyWereAtTheStart) {
  for (const int world_size : {1, 3}) {
    for (const Layout layout : {Layout::kReplicated, Layout::kSharded}) {
      layout_ = layout;
      committed_.clear();
      save(world_size, files_, {2, 3});
      EXPECT_THAT(committed_, ElementsAre(folder_ / "step-00000002", folder_ / "step-00000003"));
      expect_loads(committed_[0], 2, Layout::kSharded, 2);
      expect_loads(committed_[1], 3, Layout::kReplicated, 1);
    }
  }
  EXPECT_THAT(names(), AllOf(::testing::Contains("step-00000003/rank-0.safetensors"),
                             ::testing::Each(::testing::Not(HasSubstr(".done")))));
}

TEST_F(AsyncWriterTest, TheCallerDoesNotWaitForTheDisk) {
  std::latch go{1};
  test::FaultyFileSystem slow([&](std::string_view operation, const fs::path&) {
    if (operation == "sync") go.wait();
    return 0;
  });
  test::run_ranks(2, [&](comm::Communicator& communicator) {
    AsyncWriter writer(slow, [](const fs::path&) {});
    start(writer, 2, communicator);
    EXPECT_FALSE(writer.has_failed());
    communicator.barrier();
    EXPECT_FALSE(fs::exists(folder_ / "step-00000002"));
    communicator.barrier();
    if (communicator.rank() == 0) go.count_down();
    writer.finish(communicator);
    EXPECT_TRUE(fs::exists(folder_ / "step-00000002"));
  });
}

TEST_F(AsyncWriterTest, AFailureReachesAllRanksWithoutWaiting) {
  for (const std::string where : {"rank-1.safetensors", "manifest.json"}) {
    fs::remove_all(folder_);
    const fs::path previous = save_model(folder_, 1, 1, Layout::kSharded, 2, files_);
    test::FaultyFileSystem full([&](std::string_view operation, const fs::path& path) {
      return operation == "write" && path.filename() == where ? ENOSPC : 0;
    });
    const std::string message = message_of([&] {
      test::run_ranks(2, [&](comm::Communicator& communicator) {
        AsyncWriter writer(full, [](const fs::path&) { ADD_FAILURE() << "committed"; });
        start(writer, 2, communicator);
        for (;;) writer.throw_if_failed(communicator);  // as steps do
      });
    });
    const int rank = where == "manifest.json" ? 0 : 1;
    EXPECT_THAT(
        message,
        AllOf(HasSubstr(fmt::format("the checkpoint at step 2 was not saved: rank {}: ", rank)),
              HasSubstr("No space left on device"),
              HasSubstr("Earlier checkpoints are untouched; the newest is " + previous.string())));
    EXPECT_FALSE(fs::exists(temporary_of(folder_ / "step-00000002")));
  }
}

TEST_F(AsyncWriterTest, AFullDiskAnywhereKeepsThePreviousAndSaysSo) {
  fs::create_directory(folder_);
  InterruptedFileSystem counting;
  save(2, counting);
  for (int operation = 0; operation < counting.num_operations(); ++operation) {
    fs::remove_all(folder_);
    const fs::path previous = save_model(folder_, 1, 1, Layout::kSharded, 2, files_);
    InterruptedFileSystem full(operation);
    EXPECT_THAT(message_of([&] { save(2, full); }),
                AllOf(HasSubstr(" was not saved: rank "), HasSubstr("No space left on device"),
                      HasSubstr("Earlier checkpoints are untouched")))
        << operation;
    const Latest latest = find_latest(folder_);
    ASSERT_TRUE(latest.path && latest.skipped.empty()) << operation;
    for (const auto& entry : fs::directory_iterator(folder_)) {
      EXPECT_TRUE(step_of_name(entry.path().filename().string())) << entry.path();
    }
    expect_loads(previous, 1, Layout::kSharded, 2);
  }
}

TEST_F(AsyncWriterTest, KilledAtAnyMomentLeavesAWholeCheckpoint) {
  fs::create_directory(folder_);
  InterruptedFileSystem counting;
  save(2, counting);
  for (int operation = 0; operation < counting.num_operations(); ++operation) {
    fs::remove_all(folder_);
    save_model(folder_, 1, 1, Layout::kSharded, 2, files_);
    InterruptedFileSystem dying(operation, InterruptedFileSystem::Fault::kDeath);
    EXPECT_THROW(save(2, dying), base::CheckpointError);
    clean_leftovers(files_, folder_);  // the next run
    const Latest latest = find_latest(folder_);
    ASSERT_TRUE(latest.path && latest.skipped.empty()) << operation;
    expect_loads(*latest.path, static_cast<double>(*step_of_name(latest.path->filename().string())),
                 Layout::kSharded, 2);
  }
}

TEST_F(AsyncWriterTest, GoesOnAfterAFailure) {
  test::FaultyFileSystem files([&](std::string_view operation, const fs::path& path) {
    return operation == "sync" && path.parent_path().filename() == "step-00000002.tmp" ? EIO : 0;
  });
  test::run_ranks(2, [&](comm::Communicator& communicator) {
    AsyncWriter writer(files, [](const fs::path&) {});
    start(writer, 2, communicator);
    EXPECT_THAT(message_of([&] { start(writer, 3, communicator); }), HasSubstr("step 2"));
    EXPECT_FALSE(writer.has_failed());
    start(writer, 4, communicator);
    writer.finish(communicator);
  });
  expect_loads(folder_ / "step-00000004", 4, Layout::kSharded, 2);
}

TEST_F(AsyncWriterTest, ARankThatHasToldItsPartTouchesNothingMore) {
  test::run_ranks(2, [&](comm::Communicator& communicator) {
    bool has_told = false;
    test::FaultyFileSystem files([&](std::string_view operation, const fs::path& path) {
      EXPECT_FALSE(has_told) << operation << " " << path << ", which may have its last name by now";
      has_told |= operation == "rename" && path.filename() == "rank-1.done";
      return 0;
    });
    AsyncWriter writer(files, [](const fs::path&) {});
    start(writer, 2, communicator);
    writer.finish(communicator);
    EXPECT_EQ(has_told, communicator.rank() == 1);
  });
}

TEST_F(AsyncWriterTest, ARankThatHasNothingToWriteTouchesNothing) {
  layout_ = Layout::kReplicated;
  test::run_ranks(3, [&](comm::Communicator& communicator) {
    std::atomic<int> num_operations = 0;
    test::FaultyFileSystem files([&](std::string_view, const fs::path&) {
      ++num_operations;
      return 0;
    });
    AsyncWriter writer(files, [](const fs::path&) {});
    start(writer, 2, communicator);
    writer.finish(communicator);
    EXPECT_EQ(num_operations > 0, communicator.rank() == 0);
  });
  expect_loads(folder_ / "step-00000002", 2, Layout::kReplicated, 1);
}

TEST_F(AsyncWriterTest, ItsEndWaitsForTheSaveInFlight) {
  test::run_ranks(2, [&](comm::Communicator& communicator) {
    AsyncWriter writer(files_, [](const fs::path&) {});
    start(writer, 2, communicator);
  });
  expect_loads(folder_ / "step-00000002", 2, Layout::kSharded, 2);
}

TEST_F(AsyncWriterTest, NothingInFlight) {
  test::run_ranks(2, [&](comm::Communicator& communicator) {
    AsyncWriter writer(files_, [](const fs::path&) {});
    writer.finish(communicator);
    writer.throw_if_failed(communicator);
    EXPECT_FALSE(writer.has_failed());
  });
  EXPECT_FALSE(fs::exists(folder_));
}

}  // namespace
}  // namespace paceline::checkpoint
