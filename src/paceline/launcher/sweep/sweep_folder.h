#pragma once

#include "paceline/base/file.h"
#include "paceline/launcher/sweep/search_space.h"
#include "paceline/launcher/sweep/sweep_lock.h"
#include "paceline/launcher/sweep/sweep_state.h"

#include <filesystem>

namespace paceline::launcher {

/// The folder of a sweep, which no other process writes to meanwhile.
class SweepFolder {
 public:
  /// Makes it if need be. Throws CheckpointError if another process holds it.
  SweepFolder(std::filesystem::path path, SearchSpace space);

  const std::filesystem::path& path() const { return path_; }
  /// Where a trial's run lies.
  std::filesystem::path run_of(const Trial& trial) const { return path_ / folder_name(trial); }
  /// What it has printed.
  std::filesystem::path log_of(const Trial& trial) const;

  /// Takes what an earlier start of the sweep has measured, also of runs that ended when it was
  /// killed; with `retries_failed` trials that failed are as if they had been interrupted. False if
  /// there was none. Throws ConfigError if it was another sweep.
  bool restore(Sweep& sweep, int num_phases, bool retries_failed) const;

  /// sweep.json, sweep.csv and sweep.svg, and ablation.csv of an ablation; each is replaced at
  /// once. Throws FileError.
  void write(const Sweep& sweep);

 private:
  std::filesystem::path path_;
  SearchSpace space_;
  base::RealFileSystem files_;
  SweepLock lock_;
};

}  // namespace paceline::launcher
