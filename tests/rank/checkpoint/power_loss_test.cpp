#include "paceline/checkpoint/async_writer.h"
#include "paceline/checkpoint/branch.h"
#include "paceline/checkpoint/directory.h"
#include "paceline/checkpoint/listing.h"
#include "paceline/checkpoint/retention.h"
#include "paceline/checkpoint/run_lock.h"
#include "paceline/checkpoint/weights/weights.h"
#include "rank/checkpoint/saved_runs.h"
#include "support/power_loss_file_system.h"
#include "support/unsynced_file_system.h"

#include <array>
#include <set>
#include <string>

#include <gtest/gtest.h>

namespace paceline::checkpoint {
namespace {

namespace fs = std::filesystem;
using test::expect_durable;
using test::PowerLossFileSystem;

constexpr const char* kFolder = "checkpoints";

/// What must be on a disk, besides that whatever has a checkpoint's name is whole.
struct Expected {
  std::set<std::int64_t> steps = {};     ///< in the folder once the next run has cleaned it up
  std::set<std::int64_t> anywhere = {};  ///< there or in a branch
  std::optional<std::int64_t> newest = {};
  double value = 0;  ///< that the newest was monitored with, or a later one
};

/// The checkpoints in a folder, or in all below it; throws what is wrong with one of them.
std::set<std::int64_t> whole_steps(const fs::path& folder, bool is_recursive) {
  std::set<std::int64_t> steps;
  if (!fs::exists(folder)) return steps;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (const auto step = step_of_name(entry.path().filename().string())) {
      CheckpointReader(entry.path()).verify();
      steps.insert(*step);
    } else if (is_recursive && entry.is_directory()) {
      steps.merge(whole_steps(entry.path(), true));
    }
  }
  return steps;
}

std::string lacks(const std::set<std::int64_t>& found, const std::set<std::int64_t>& wanted) {
  for (const std::int64_t step : wanted)
    if (!found.contains(step)) return fmt::format("step {} is lost", step);
  return "";
}

/// What the next run would find.
std::string problem_with(const fs::path& disk, const Expected& expected) try {
  const fs::path folder = disk / kFolder;
  whole_steps(disk, true);
  test::UnsyncedFileSystem files;
  clean_leftovers(files, folder);
  std::string problem = lacks(whole_steps(folder, false), expected.steps);
  if (problem.empty()) problem = lacks(whole_steps(folder, true), expected.anywhere);
  const Latest latest = find_latest(folder);
  if (!problem.empty() || !latest.path) return problem;
  const Manifest manifest = CheckpointReader(*latest.path).manifest();
  if (expected.newest && manifest.step != *expected.newest)
    return fmt::format("step {} is the newest", manifest.step);
  if (manifest.monitored->value < expected.value)
    return fmt::format("step {} is an older one", manifest.step);
  return "";
} catch (const base::Error& error) {
  return error.what();
}

PowerLossFileSystem::Check holds(Expected expected) {
  return [expected = std::move(expected)](const fs::path& disk) {
    return problem_with(disk, expected);
  };
}

/// Saves a small model that is monitored with `value`.
void save(base::FileSystem& files, const fs::path& folder, std::int64_t step, double value) {
  save_model(folder, step, value, Layout::kReplicated, 1, files);
}

void prepare(const fs::path& folder, const std::set<std::int64_t>& steps) {
  test::UnsyncedFileSystem files;
  for (const std::int64_t step : steps) save(files, folder, step, static_cast<double>(step));
}

TEST(PowerLoss, SavedCheckpointsAreThereAndRetentionKeepsWhatItPromises) {
  expect_durable({.run = [](PowerLossFileSystem& files, const fs::path& root) {
    Retention retention({.keep_last = 2}, std::nullopt);
    const RunLock lock(root / kFolder, "checkpoint.dir", files);
    files.expect(holds({}));
    std::set<std::int64_t> promised;
    for (const std::int64_t step : {10, 20, 30}) {
      save(files, root / kFolder, step, 0);
      promised.insert(step);
      if (promised.size() > 2) promised.erase(promised.begin());
      files.expect(holds({.steps = promised}));
      retention.apply(files, root / kFolder, step);
    }
  }});
}

TEST(PowerLoss, AFolderOfCheckpointsThatWasRemovedIsMadeAgain) {
  expect_durable({.run = [](PowerLossFileSystem& files, const fs::path& root) {
    save(files, root / kFolder, 10, 0);
    files.expect(holds({.steps = {10}}));
  }});
}

TEST(PowerLoss, ACheckpointIsReplacedByOneOfTheSameStep) {
  expect_durable({.prepare = [](const fs::path& root) { prepare(root / kFolder, {10}); },
                  .run =
                      [](PowerLossFileSystem& files, const fs::path& root) {
                        files.expect(holds({.steps = {10}, .value = 10}));
                        save(files, root / kFolder, 10, 11);
                        files.expect(holds({.steps = {10}, .value = 11}));
                      }});
}

TEST(PowerLoss, RanksThatSaveWhileTrainingGoesOn) {
  expect_durable({.run = [](PowerLossFileSystem& files, const fs::path& root) {
    files.expect(holds({}));
    test::run_ranks(2, [&](comm::Communicator& communicator) {
      AsyncWriter writer(files, [&](const fs::path& path) {
        files.expect(holds({.steps = {*step_of_name(path.filename().string())}}));
      });
      for (const std::int64_t step : {10, 20}) {
        const auto shards = shards_of(whole_model(0), Layout::kSharded, communicator.rank(), 2);
        writer.start({.folder = root / kFolder,
                      .step = step,
                      .shards = shards,
                      .monitored = Monitored{"val/top1", 0}},
                     communicator);
      }
      writer.finish(communicator);
    });
  }});
}

TEST(PowerLoss, WhatAResumePutsAsideIsKept) {
  expect_durable(
      {.prepare =
           [](const fs::path& root) {
             prepare(root / kFolder, {10, 20, 30, 40});
           },
       .run =
           [](PowerLossFileSystem& files, const fs::path& root) {
             files.expect(holds({.steps = {10, 20}, .anywhere = {30, 40}}));
             continue_from(files, root / kFolder / checkpoint_name(20), root / kFolder);
             files.expect(holds({.steps = {10, 20}, .anywhere = {30, 40}, .newest = 20}));
           }});
}

TEST(PowerLoss, ACheckpointFromElsewhere) {
  for (const bool has_links : {true, false}) {
    expect_durable({.prepare =
                        [](const fs::path& root) {
                          prepare(root / kFolder, {10, 30});
                          prepare(root / "other", {20});
                        },
                    .run =
                        [&](PowerLossFileSystem& files, const fs::path& root) {
                          if (!has_links) files.refuse_links();
                          const fs::path other = root / "other" / checkpoint_name(20);
                          files.expect(holds({.anywhere = {10, 30}}));
                          continue_from(files, other, root / kFolder);
                          files.expect(holds({.steps = {20}, .anywhere = {10, 30}, .newest = 20}));
                          remove_checkpoint(files, other);  // as that run's retention may
                        }});
  }
}

/// Some file of a disk that is called metrics.jsonl holds each of these texts.
PowerLossFileSystem::Check keeps_records(std::set<std::string> texts) {
  return [texts = std::move(texts)](const fs::path& disk) -> std::string {
    std::set<std::string> found;
    for (const auto& entry : fs::recursive_directory_iterator(disk))
      if (entry.path().filename() == "metrics.jsonl") found.insert(base::read_file(entry.path()));
    for (const std::string& text : texts)
      if (!found.contains(text)) return text + " is lost";
    return "";
  };
}

TEST(PowerLoss, RecordsThatGoAside) {
  expect_durable({.prepare =
                      [](const fs::path& root) {
                        prepare(root / kFolder, {20, 40});
                        test::UnsyncedFileSystem().create(root / "metrics.jsonl")->write("40");
                      },
                  .run =
                      [](PowerLossFileSystem& files, const fs::path& root) {
                        const std::array records{root / "metrics.jsonl"};
                        files.expect(keeps_records({"40"}));
                        const fs::path folder = root / kFolder;
                        continue_from(files, folder / checkpoint_name(20), folder, records);
                        write_file_atomically(files, records[0], "20");  // as its owner cuts it
                        files.expect(keeps_records({"20", "40"}));
                      }});
}

TEST(PowerLoss, RecordsThatComeBack) {
  expect_durable({.prepare =
                      [](const fs::path& root) {
                        prepare(root / kFolder, {30});
                        prepare(root / kFolder / "branch-1", {40});
                        test::UnsyncedFileSystem files;
                        files.create(root / "metrics.jsonl")->write("30");
                        files.create(root / kFolder / "branch-1" / "metrics.jsonl")->write("40");
                      },
                  .run =
                      [](PowerLossFileSystem& files, const fs::path& root) {
                        const std::array records{root / "metrics.jsonl"};
                        const fs::path folder = root / kFolder;
                        files.expect([records = keeps_records({"30", "40"})](const fs::path& disk) {
                          const auto newest = find_latest(disk / kFolder).path;
                          const bool has_come = newest && newest->filename() == checkpoint_name(40);
                          if (has_come && base::read_file(disk / "metrics.jsonl") != "40")
                            return std::string("the checkpoint came without its records");
                          return records(disk);
                        });
                        continue_from(files, folder / "branch-1" / checkpoint_name(40), folder,
                                      records);
                        files.expect(holds({.steps = {40}, .anywhere = {30}, .newest = 40}));
                        remove_checkpoint(files, folder / "branch-1" / checkpoint_name(40));
                      }});
}

TEST(PowerLoss, WhatAKilledRunHasNotSyncedIsCleanedUp) {
  expect_durable({.prepare =
                      [](const fs::path& root) {
                        prepare(root / kFolder, {10});
                        prepare(root / "new", {10});
                      },
                  .run =
                      [](PowerLossFileSystem& files, const fs::path& root) {
                        const fs::path target = root / kFolder / checkpoint_name(10);
                        files.rename(target, target.string() + ".old");
                        files.rename(root / "new" / checkpoint_name(10), target);
                        files.expect(holds({.steps = {10}}));  // and it is killed
                        clean_leftovers(files, root / kFolder);
                      }});
}

TEST(PowerLoss, ExportedWeightsAreTheOldOrTheNew) {
  const auto weights_of = [](double value) {
    return std::vector<NamedTensor>{{"weight", at::full({1000}, value)}};
  };
  const auto holds_at_least = [](double value) {
    return [value](const fs::path& disk) -> std::string {
      try {
        const SafetensorsFile file(disk / "model.safetensors");
        const at::Tensor found = file.tensor(file.entries().front());
        return found.eq(found[0]).all().item<bool>() && found[0].item<double>() >= value
                   ? ""
                   : "other weights";
      } catch (const base::Error& error) {
        return error.what();
      }
    };
  };
  expect_durable({.prepare =
                      [&](const fs::path& root) {
                        test::UnsyncedFileSystem files;
                        export_weights(files, root / "model.safetensors", weights_of(1));
                      },
                  .run =
                      [&](PowerLossFileSystem& files, const fs::path& root) {
                        files.expect(holds_at_least(1));
                        export_weights(files, root / "model.safetensors", weights_of(2));
                        files.expect(holds_at_least(2));
                      }});
}

}  // namespace
}  // namespace paceline::checkpoint
