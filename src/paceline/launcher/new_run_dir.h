#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace paceline::launcher {

/// A directory for a run that was given none.
struct NewRunDir {
  std::filesystem::path path;
  int exit_code = 0;  ///< not 0: there is none, and the rank program has said why
};

/// Makes the directory that `command`, a start of the rank program for training, would make for
/// itself, run.dir/run.name-TIME, with a number behind if it is there already. Throws
/// CheckpointError if it cannot be made.
NewRunDir make_new_run_dir(const std::vector<std::string>& command);

}  // namespace paceline::launcher
