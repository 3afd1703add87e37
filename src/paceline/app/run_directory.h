#pragma once

#include "paceline/base/file.h"
#include "paceline/checkpoint/run_lock.h"
#include "paceline/comm/communicator.h"

#include <filesystem>
#include <memory>
#include <optional>
#include <string>

namespace paceline::app {

/// Where a run writes. Rank 0 makes and locks the directory; the other ranks learn its path.
class RunDirectory {
 public:
  /// `wanted` empty: DIR/NAME-TIME. Every rank must call it; throws the same error on all of them
  /// when rank 0 cannot make, write or lock it, or when it holds a run and `is_resuming` is false.
  RunDirectory(const std::optional<std::filesystem::path>& wanted, const std::string& parent,
               const std::string& name, bool is_resuming, comm::Communicator& communicator);

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path config_file() const { return path_ / "config.yaml"; }
  std::filesystem::path summary_file() const { return path_ / "summary.json"; }
  std::filesystem::path log_file() const { return path_ / "log.txt"; }
  /// `dir` of the recipe's checkpoint section, or checkpoints/ here.
  std::filesystem::path checkpoint_folder(const std::optional<std::string>& dir) const;

 private:
  std::filesystem::path path_;
  std::unique_ptr<checkpoint::RunLock> lock_;  ///< of rank 0
};

/// What a user gives as RUN|CHECKPOINT: a run directory, its checkpoints' folder or one checkpoint.
struct CheckpointChoice {
  std::filesystem::path path;
  std::vector<std::string> notes;  ///< damaged newer checkpoints that were passed over
};

/// The checkpoint that a path stands for; of a run, its newest whole one. Throws CheckpointError.
CheckpointChoice find_checkpoint(const std::filesystem::path& run_or_checkpoint);

}  // namespace paceline::app
