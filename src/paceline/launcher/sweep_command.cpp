#include "paceline/launcher/sweep_command.h"

#include "paceline/launcher/sweep/sweep_options.h"
#include "paceline/launcher/sweep/sweep_run.h"
#include "paceline/launcher/verbs.h"

#include <cstdio>
#include <filesystem>

namespace paceline::launcher {

int run_sweep_command(const std::string& name, const std::vector<std::string>& arguments) {
  if (asks_for_help(arguments)) {
    std::fputs((usage_text(name) + kSweepHelp).c_str(), stdout);
    return 0;
  }
  return run_sweep(parse_sweep_options(arguments), std::filesystem::read_symlink("/proc/self/exe"));
}

}  // namespace paceline::launcher
