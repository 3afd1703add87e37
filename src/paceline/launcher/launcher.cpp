#include "paceline/launcher/launcher.h"

#include "paceline/base/error.h"
#include "paceline/base/version.h"
#include "paceline/launch/rank_process.h"
#include "paceline/launcher/rank_program.h"
#include "paceline/launcher/told_errors.h"
#include "paceline/launcher/verbs.h"

#include <cstdio>

namespace paceline::launcher {
namespace {

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
  return exit_code_of([&] { return dispatch(arguments); });
}

}  // namespace paceline::launcher
