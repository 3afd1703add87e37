#include "paceline/launcher/launcher.h"

#include "paceline/base/error.h"
#include "paceline/base/file_status.h"
#include "paceline/base/version.h"
#include "paceline/launch/rank_process.h"
#include "paceline/launcher/rank_program.h"
#include "paceline/launcher/verbs.h"

#include <cstdio>
#include <filesystem>

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
  try {
    return dispatch(arguments);
  } catch (const base::Error& error) {
    std::fprintf(stderr, "paceline: error: %s\n", error.what());
    return static_cast<int>(error.exit_code());
  } catch (const std::filesystem::filesystem_error& error) {
    const base::FileError told = base::file_error_of(error);
    std::fprintf(stderr, "paceline: error: %s\n", told.what());
    return static_cast<int>(told.exit_code());
  } catch (const std::exception& error) {
    std::fprintf(stderr, "paceline: internal error: %s\n", error.what());
    return static_cast<int>(base::ExitCode::kInternal);
  }
}

}  // namespace paceline::launcher
