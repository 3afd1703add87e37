#include "paceline/launcher/detached_run.h"

#include "paceline/base/error.h"
#include "paceline/base/file.h"
#include "paceline/base/file_status.h"
#include "paceline/launcher/run_record.h"

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <optional>

#include <fcntl.h>
#include <unistd.h>

namespace paceline::launcher {
namespace {

namespace fs = std::filesystem;

std::string local_time(const char* format) {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  localtime_r(&now, &parts);
  std::array<char, 64> text{};
  std::strftime(text.data(), text.size(), format, &parts);
  return text.data();
}

[[noreturn]] void refuse(const base::FileError& error) {
  throw base::CheckpointError(fmt::format("{}; give another --run-dir", error.what()));
}

/// Durably: rank 0 takes what it finds there for durable.
void make_run_dir(const fs::path& path) try {
  base::RealFileSystem files;
  base::create_durable_directories(files, path);
} catch (const base::FileError& error) {
  refuse(error);
}

int open_log(const fs::path& path) try {
  return base::open_regular_file(path, O_WRONLY | O_APPEND);
} catch (const base::FileError& error) {
  refuse(error);
}

/// The background process: cut off from the terminal, recorded, then the ranks.
[[noreturn]] void run_in_background(const DetachedRun& run, int log, int ready,
                                    const std::function<int()>& run_ranks) {
  int code = static_cast<int>(base::ExitCode::kInternal);
  try {
    setsid();
    dup2(open("/dev/null", O_RDONLY | O_CLOEXEC), STDIN_FILENO);
    dup2(log, STDOUT_FILENO);
    dup2(log, STDERR_FILENO);
    RunRecord record{.launcher = identity_of(getpid()).value(),
                     .host = run.host,
                     .command = run.command,
                     .started_at = local_time("%Y-%m-%dT%H:%M:%S%z"),
                     .exit_code = std::nullopt};
    const fs::path path = launcher_file(run.run_dir, run.node_rank, ".json");
    write_record(path, record);
    if (write(ready, "1", 1) == 1) close(ready);
    code = run_ranks();
    record.exit_code = code;
    write_record(path, record);
  } catch (const base::Error& error) {
    std::fprintf(stderr, "paceline: error: %s\n", error.what());
    code = static_cast<int>(error.exit_code());
  } catch (const fs::filesystem_error& error) {
    const base::FileError told = base::file_error_of(error);
    std::fprintf(stderr, "paceline: error: %s\n", told.what());
    code = static_cast<int>(told.exit_code());
  } catch (const std::exception& error) {
    std::fprintf(stderr, "paceline: internal error: %s\n", error.what());
  }
  std::fflush(nullptr);
  _exit(code);
}

void require_unused(const fs::path& record_path, const fs::path& run_dir) {
  const auto record = read_record(record_path);
  if (record && record->is_alive())
    throw base::ConfigError(
        fmt::format("the run directory {} is in use by a live run (pid {}, since {}): stop it with "
                    "`paceline stop "
                    "{}`, or give another --run-dir",
                    run_dir.string(), record->launcher.pid, record->started_at, run_dir.string()));
}

}  // namespace

fs::path unused_run_dir(const fs::path& parent, const std::string& name) {
  const fs::path base = parent / (name + "-" + local_time("%Y%m%d-%H%M%S"));
  fs::path candidate = base;
  for (int number = 2; fs::exists(candidate); ++number)
    candidate = fmt::format("{}-{}", base.string(), number);
  return candidate;
}

int run_detached(const DetachedRun& run, const std::function<int()>& run_ranks) {
  make_run_dir(run.run_dir);
  const fs::path log_path = launcher_file(run.run_dir, run.node_rank, ".log");
  require_unused(launcher_file(run.run_dir, run.node_rank, ".json"), run.run_dir);
  const int log = open_log(log_path);
  std::array<int, 2> ready{};
  if (pipe2(ready.data(), O_CLOEXEC) != 0)
    throw base::InternalError(fmt::format("cannot make a pipe: {}", std::strerror(errno)));
  std::fflush(nullptr);
  const pid_t pid = fork();
  if (pid < 0) throw base::InternalError(fmt::format("cannot fork: {}", std::strerror(errno)));
  if (pid == 0) {
    close(ready[0]);
    run_in_background(run, log, ready[1], run_ranks);
  }
  close(ready[1]);
  char answer = 0;
  const bool is_started = read(ready[0], &answer, 1) == 1;
  close(ready[0]);
  close(log);
  if (!is_started)
    throw base::CheckpointError(
        fmt::format("the background process could not start; {} says why", log_path.string()));
  std::fputs(fmt::format("paceline: started {} in the background, pid {}\n"
                         "  follow it:  paceline logs -f {}\n"
                         "  end it:     paceline stop {}\n",
                         run.run_dir.string(), pid, run.run_dir.string(), run.run_dir.string())
                 .c_str(),
             stdout);
  return 0;
}

}  // namespace paceline::launcher
