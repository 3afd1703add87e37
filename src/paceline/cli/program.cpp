#include "paceline/cli/program.h"

#include "paceline/base/error.h"
#include "paceline/base/file_status.h"
#include "paceline/base/log.h"
#include "paceline/base/system_limit.h"
#include "paceline/cli/commands.h"
#include "paceline/launch/error_file.h"
#include "paceline/tensor/cuda_plugin.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <vector>

namespace paceline::cli {
namespace {

/// Every rank finds a wrong recipe, and one should say so. The launcher ends the others when rank 0
/// has; a rank that alone is wrong speaks after this.
void let_rank_0_speak_first() {
  const char* rank = std::getenv("RANK");
  if (rank != nullptr && std::string_view(rank) != "0") {
    std::this_thread::sleep_for(std::chrono::seconds(2));
  }
}

/// After an error a thread may have been left behind in a wait (comm/deadline.h), which must not
/// see the end of static objects; and LibTorch takes 50 ms to end its own, one operator after the
/// other.
[[noreturn]] void leave(base::ExitCode code) {
  std::fflush(nullptr);
  std::_Exit(static_cast<int>(code));
}

/// Tells an error on standard error and, for the launcher to repeat it last, in the rank's error
/// file; ends the process.
[[noreturn]] void fail(base::ExitCode code, std::string_view message) {
  base::log_error("{}", message);
  launch::write_error_file(message);
  leave(code);
}

/// What LibTorch says, without the frames of its stack.
std::string_view without_stack(std::string_view message) {
  return message.substr(0, message.find("\nException raised from "));
}

/// What was printed has reached its reader, unless he went away.
void flush_output() {
  if (std::fflush(stdout) != 0 && errno != EPIPE) {
    throw base::FileError("write", "standard output", errno);
  }
}

const Command& command_named(const std::string& verb) {
  const auto found = std::ranges::find(commands(), verb, &Command::name);
  if (found != commands().end()) return *found;
  throw base::ConfigError("unknown command '" + verb + "'; paceline --help lists the commands");
}

}  // namespace

int run_program(int argc, char** argv, const AddComponents& add) {
  using base::ExitCode;
  // A reader that leaves (`| head`) must not end a training run.
  std::signal(SIGPIPE, SIG_IGN);
  try {
    tensor::load_cuda_plugin();
    const auto registries = app::make_registries();
    if (add) add(*registries);
    const std::vector<std::string> arguments(argv + 1, argv + argc);
    const std::string verb = arguments.empty() ? "" : arguments.front();
    int code = 0;
    if (verb == "--help" || verb == "-h") {
      fmt::print("{}", program_help(argv[0]));
    } else {
      code = command_named(verb).run({arguments.begin() + 1, arguments.end()}, *registries);
    }
    flush_output();
#ifndef __SANITIZE_ADDRESS__  // which looks for leaks at the end
    leave(static_cast<ExitCode>(code));
#endif
    return code;
  } catch (const base::Error& error) {
    if (error.exit_code() == ExitCode::kConfig) let_rank_0_speak_first();
    fail(error.exit_code(), error.what());
  } catch (const std::filesystem::filesystem_error& error) {
    const base::FileError told = base::file_error_of(error);
    fail(told.exit_code(), told.what());
  } catch (const std::system_error& error) {
    // Nobody reads what a command prints: it ends as one that SIGPIPE ends.
    if (error.code().value() == EPIPE) leave(static_cast<ExitCode>(128 + SIGPIPE));
    const std::string limit = base::limit_behind(error.code().value());
    fail(limit.empty() ? ExitCode::kInternal : ExitCode::kConfig,
         (limit.empty() ? "unexpected: " : "") + std::string(error.what()) +
             (limit.empty() ? "" : ": " + limit));
  } catch (const std::exception& error) {
    fail(ExitCode::kInternal, "unexpected: " + std::string(without_stack(error.what())));
  }
}

}  // namespace paceline::cli
