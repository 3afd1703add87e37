#include "paceline/launcher/launcher.h"

#include "paceline/base/error.h"
#include "paceline/base/home_path.h"
#include "paceline/base/version.h"
#include "paceline/launch/rank_process.h"
#include "paceline/launcher/rank_program.h"
#include "paceline/launcher/told_errors.h"
#include "paceline/launcher/verbs.h"

#include <cstdio>

namespace paceline::launcher {
namespace {

/// Shells put the home into `--run-dir ~/x`, but not into `--run-dir=~/x` or what is quoted. What
/// stands behind "--" is another program's.
std::vector<std::string> with_homes(std::vector<std::string> arguments) {
  for (std::string& argument : arguments) {
    if (argument == "--") break;
    const std::size_t equals = argument.find('=');
    if (!argument.starts_with("--")) {
      argument = base::with_home(argument);
    } else if (equals != std::string::npos) {
      argument = argument.substr(0, equals + 1) + base::with_home(argument.substr(equals + 1));
    }
  }
  return arguments;
}

int dispatch(const std::vector<std::string>& arguments) {
  if (arguments.empty()) {
    std::fputs(help_text().c_str(), stderr);
    return static_cast<int>(base::ExitCode::kConfig);
  }
  const std::string& name = arguments[0];
  const std::vector<std::string> rest(arguments.begin() + 1, arguments.end());
  if (name == launch::kExecRankVerb) return launch::exec_rank(rest);
  if (name == "--help" || name == "-h" || name == "help") {
    std::fputs(help_text().c_str(), stdout);
    return 0;
  }
  if (name == "--version") {
    std::fputs(fmt::format("paceline {}\n", base::kVersion).c_str(), stdout);
    return 0;
  }
  const Verb& verb = require_verb(name);
  if (verb.run != nullptr) return verb.run(name, rest);
  exec_rank_program(arguments, launch::Environment::of_process());
}

}  // namespace

int run(const std::vector<std::string>& arguments) {
  return exit_code_of([&] { return dispatch(with_homes(arguments)); });
}

}  // namespace paceline::launcher
