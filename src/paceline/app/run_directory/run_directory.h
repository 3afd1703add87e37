#pragma once

#include "paceline/base/file.h"
#include "paceline/checkpoint/run_lock.h"
#include "paceline/comm/communicator.h"

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace paceline::app {

/// The resolved recipe in a run directory.
inline constexpr std::string_view kConfigFile = "config.yaml";
/// What a run said, over all its starts and phases.
inline constexpr std::string_view kLogFile = "log.txt";

/// PARENT/NAME-TIME, with a number behind if that is there already; nothing is made.
std::filesystem::path new_run_path(const std::string& parent, const std::string& name);

/// What names a run's folders.
struct RunPlace {
  std::optional<std::filesystem::path> wanted = {};  ///< --run-dir
  std::string parent = {};                           ///< run.dir
  std::string name = {};                             ///< run.name
  std::optional<std::string> checkpoint_dir = {};    ///< checkpoint.dir
  bool saves = true;                                 ///< whether there will be checkpoints
  bool is_scratch = false;                           ///< `wanted` goes away with the run
  bool holds_phases = false;                         ///< each of them a run in a folder of its own
};

/// Where a run writes. Rank 0 makes and locks the folders; the other ranks learn their paths.
class RunDirectory {
 public:
  /// Without `wanted`: PARENT/NAME-TIME. Every rank must call it; throws the same error on all of
  /// them when rank 0 cannot make, write or lock the run directory or the checkpoints' folder, or
  /// when one of them holds a run and `is_resuming` is false, or a run of phases where this one has
  /// none, or the reverse. Changes no other file.
  RunDirectory(const RunPlace& place, bool is_resuming, comm::Communicator& communicator,
               base::FileSystem& files);

  /// For a start that was refused before it wrote anything: takes away again what the constructor
  /// has made. It must not be used after that.
  void abandon();

  /// On rank 0 throws CheckpointError if the directory is gone: removed or replaced under the run.
  void require() const;

  const std::filesystem::path& path() const { return path_; }
  bool is_scratch() const { return is_scratch_; }
  std::filesystem::path config_file() const { return path_ / kConfigFile; }
  std::filesystem::path summary_file() const { return path_ / "summary.json"; }
  /// checkpoint.dir, or checkpoints/ here.
  const std::filesystem::path& checkpoint_folder() const { return checkpoint_folder_; }
  /// On rank 0 whether that folder is locked for this run: one that neither saves nor goes on from
  /// a checkpoint leaves it alone.
  bool owns_checkpoint_folder() const { return locks_.size() == 2; }

 private:
  void lock(const RunPlace& place, bool is_resuming, base::FileSystem& files);

  std::filesystem::path path_;
  bool is_new_ = false;  ///< on rank 0: there was no such folder
  bool is_scratch_;
  std::filesystem::path checkpoint_folder_;
  std::vector<std::unique_ptr<checkpoint::RunLock>> locks_;  ///< of rank 0: its own, its folder's
};

/// Where the run that wrote this directory has its checkpoints, by its config.yaml; nothing for
/// another directory.
std::optional<std::filesystem::path> folder_of_run(const std::filesystem::path& directory);

}  // namespace paceline::app
