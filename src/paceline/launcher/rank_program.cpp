#include "paceline/launcher/rank_program.h"

#include "paceline/base/error.h"
#include "paceline/launch/rank_process.h"

#include <filesystem>

#include <unistd.h>

namespace paceline::launcher {

std::string rank_program_path() {
  const auto self = std::filesystem::read_symlink("/proc/self/exe");
  const auto path = self.parent_path().parent_path() / "libexec/paceline-rank";
  if (access(path.c_str(), X_OK) != 0)
    throw base::InternalError(fmt::format(
        "{} needs {}, which is not there: build the target paceline-rank, or install both programs",
        self.string(), path.string()));
  return path;
}

void exec_rank_program(const std::vector<std::string>& arguments,
                       const launch::Environment& environment) {
  std::vector<std::string> command{rank_program_path()};
  command.insert(command.end(), arguments.begin(), arguments.end());
  launch::exec_program(command, environment);
}

}  // namespace paceline::launcher
