#pragma once

#include "paceline/launch/environment.h"

#include <filesystem>
#include <string>
#include <vector>

namespace paceline::launcher {

/// One start of a program: what it prints goes to a file.
struct QuietRun {
  std::vector<std::string> command;  ///< path of the program and its arguments
  std::filesystem::path log;
};

/// Runs programs at the same time, and waits until all have ended. Throws base::Error with the exit
/// code and the last words of the first that failed; SIGINT, SIGTERM and SIGHUP, unless they are
/// ignored, end them and then this process's work, by an Error with exit code 128 + signal. What
/// has not ended when the grace period (kGraceVariable) is over, or at another SIGINT, is killed.
void run_quietly(const std::vector<QuietRun>& runs, const launch::Environment& environment);

}  // namespace paceline::launcher
