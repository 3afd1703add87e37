#include "paceline/callbacks/copy_checkpoints.h"

#include "paceline/base/error.h"
#include "paceline/checkpoint/directory.h"
#include "paceline/checkpoint/manifest.h"
#include "paceline/checkpoint/reader.h"
#include "paceline/comm/fake/fake_communicator.h"
#include "paceline/train/run_context.h"
#include "paceline/train/train_state.h"
#include "support/faulty_file_system.h"
#include "support/temp_folder.h"

#include <atomic>
#include <cerrno>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::callbacks {
namespace {

namespace fs = std::filesystem;
using paceline::test::FaultyFileSystem;
using paceline::test::TempFolder;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

class CopyCheckpointsTest : public ::testing::Test {
 protected:
  /// Two files stand for a checkpoint of a run.
  fs::path save(std::int64_t step, const std::string& run = "run") {
    const std::string name = run + "/checkpoints/" + checkpoint::checkpoint_name(step);
    checkpoint::Manifest manifest;
    manifest.step = step;
    manifest.config = run + " manifest " + std::to_string(step);
    folder_.write(name + "/manifest.json", encode(manifest));
    folder_.write(name + "/rank_0000.safetensors", std::string(1 << 16, 'x'));
    return folder_.path() / name;
  }
  /// As a start of the run has it.
  CopyCheckpoints of_run(const std::string& run, std::optional<int> keep = {}) const {
    return of_run(run, target(), keep);
  }
  CopyCheckpoints of_run(const std::string& run, const fs::path& to,
                         std::optional<int> keep = {}) const {
    CopyCheckpoints callback({.to = to.string(), .keep = keep});
    fs::create_directories(folder_.path() / run);
    const train::RunContext context{*communicator_, folder_.path() / run, 1, {}, no_signal_};
    callback.on_event(train::Event::kFitStart, {}, context);
    return callback;
  }
  fs::path target() const { return folder_.path() / "far/away"; }
  static std::set<std::string> names_in(const fs::path& folder) {
    std::set<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder))
      names.insert(entry.path().filename().string());
    return names;
  }
  static std::string manifest(const fs::path& copy) {
    return checkpoint::CheckpointReader(copy).manifest().config;
  }

  TempFolder folder_;
  FaultyFileSystem files_;
  std::unique_ptr<comm::Communicator> communicator_ = comm::make_fake_communicator(0, 1);
  std::atomic<int> no_signal_{0};
};

TEST_F(CopyCheckpointsTest, CopiesEveryFile) {
  CopyCheckpoints callback = of_run("run");
  const fs::path saved = save(4);
  callback.on_saved(saved, files_);
  const fs::path copy = target() / "run" / saved.filename();
  EXPECT_EQ(manifest(copy), "run manifest 4");
  EXPECT_EQ(base::read_file(copy / "rank_0000.safetensors"),
            base::read_file(saved / "rank_0000.safetensors"));
  of_run("run").on_saved(saved, files_);
  EXPECT_EQ(names_in(target()), std::set<std::string>{"run"});
  EXPECT_EQ(names_in(target() / "run"),
            (std::set<std::string>{"run_id", saved.filename().string()}))
      << "a second copy takes the place of the first, also of another start of the run";
}

TEST_F(CopyCheckpointsTest, RunsThatShareAFolderKeepApart) {
  of_run("a/run").on_saved(save(1, "a/run"), files_);
  of_run("b/run", 1).on_saved(save(1, "b/run"), files_);
  of_run("b/run", 1).on_saved(save(2, "b/run"), files_);
  of_run("other", 1).on_saved(save(1, "other"), files_);
  const std::string first = checkpoint::checkpoint_name(1);
  EXPECT_EQ(names_in(target()), (std::set<std::string>{"run", "run-2", "other"}));
  EXPECT_EQ(manifest(target() / "run" / first), "a/run manifest 1");
  EXPECT_EQ(names_in(target() / "run-2"),
            (std::set<std::string>{"run_id", checkpoint::checkpoint_name(2)}));
  EXPECT_EQ(manifest(target() / "other" / first), "other manifest 1");
}

TEST_F(CopyCheckpointsTest, WhatAPersonPutThereStays) {
  const std::string theirs = checkpoint::checkpoint_name(1) + "/manifest.json";
  folder_.write("far/away/run/" + theirs, "precious");
  of_run("run", 1).on_saved(save(1), files_);
  EXPECT_EQ(base::read_file(target() / "run" / theirs), "precious");
  EXPECT_EQ(manifest(target() / "run-2" / checkpoint::checkpoint_name(1)), "run manifest 1");
}

TEST_F(CopyCheckpointsTest, ARunThatGoesBackKeepsItsNewCopy) {
  of_run("run", 1).on_saved(save(9), files_);
  of_run("run", 1).on_saved(save(4), files_);
  EXPECT_TRUE(fs::exists(target() / "run" / checkpoint::checkpoint_name(4)));
  of_run("run", 1).on_saved(save(6), files_);
  EXPECT_FALSE(fs::exists(target() / "run" / checkpoint::checkpoint_name(4)));
}

TEST_F(CopyCheckpointsTest, AFullDiskLeavesNoNameOfACheckpoint) {
  CopyCheckpoints callback = of_run("run");
  callback.on_saved(save(1), files_);
  const fs::path second = save(2);
  files_.fill_disk_after(5000);
  EXPECT_THROW(callback.on_saved(second, files_), base::FileError);
  EXPECT_FALSE(fs::exists(target() / "run" / second.filename()));
  EXPECT_TRUE(fs::exists(target() / "run" / checkpoint::checkpoint_name(1)));
  files_.free_disk();
  callback.on_saved(second, files_);
  EXPECT_TRUE(fs::exists(target() / "run" / second.filename())) << "the next try mends it";
}

TEST_F(CopyCheckpointsTest, StoppedAnywhereItLeavesOnlyWholeCopies) {
  const fs::path saved = save(1);
  bool was_stopped = true;
  for (int stop = 1; was_stopped; ++stop) {
    const fs::path to = folder_.path() / ("to-" + std::to_string(stop));
    was_stopped = false;
    int count = 0;
    files_.set_fault([&](std::string_view, const fs::path& path) {
      if (!path.string().starts_with(to.string()) || ++count < stop) return 0;
      was_stopped = true;
      return EIO;
    });
    try {
      of_run("run", to).on_saved(saved, files_);
    } catch (const base::FileError&) {
    }
    files_.set_fault({});
    const fs::path copy = to / "run" / saved.filename();
    if (fs::exists(copy)) {
      EXPECT_EQ(names_in(copy), names_in(saved)) << stop;
    }
    of_run("run", to).on_saved(saved, files_);
    EXPECT_EQ(manifest(copy), "run manifest 1") << "the next start mends it, stopped at " << stop;
    EXPECT_EQ(names_in(to / "run"), (std::set<std::string>{"run_id", saved.filename().string()}))
        << stop;
  }
}

TEST_F(CopyCheckpointsTest, AFolderThatCannotBeWrittenIsAnError) {
  files_.set_fault([&](std::string_view, const fs::path& path) {
    return path.string().starts_with(target().string()) ? EACCES : 0;
  });
  EXPECT_THROW(of_run("run").on_saved(save(1), files_), base::FileError);
}

TEST_F(CopyCheckpointsTest, RefusesAFolderInTheRun) {
  const fs::path saved = save(3);
  for (const char* inside : {"run", "run/checkpoints", "run/checkpoints/copies", "run/copies"}) {
    EXPECT_THAT([&] { of_run("run", folder_.path() / inside, 1).on_saved(saved, files_); },
                ThrowsMessage<base::ConfigError>(HasSubstr("name a folder elsewhere")))
        << inside;
  }
  EXPECT_EQ(names_in(saved.parent_path()).size(), 1u);
  EXPECT_TRUE(fs::exists(saved / "manifest.json"));
}

}  // namespace
}  // namespace paceline::callbacks
