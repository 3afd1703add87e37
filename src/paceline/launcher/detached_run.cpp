#include "paceline/launcher/detached_run.h"

#include "paceline/base/error.h"
#include "paceline/base/file.h"
#include "paceline/launcher/await_first_step.h"
#include "paceline/launcher/run_record.h"
#include "paceline/launcher/told_errors.h"

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <optional>
#include <utility>

#include <fcntl.h>
#include <sys/file.h>
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

launch::Descriptor open_log(const fs::path& path, int flags) try {
  return launch::Descriptor(base::open_regular_file(path, flags));
} catch (const base::FileError& error) {
  refuse(error);
}

/// By the record, which a killed launcher leaves behind, and by a lock on the log, which the
/// background process holds to its end: of two that start at once one would miss the other's
/// record.
void require_unused(const DetachedRun& run, int log) {
  const auto record = read_record(launcher_file(run.run_dir, run.node_rank, ".json"));
  const bool is_alive = record && record->is_alive();
  const bool is_locked = flock(log, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
  if (!is_alive && !is_locked) return;
  throw base::ConfigError(fmt::format(
      "the run directory {} is in use by a live run{}: stop it with `paceline stop {}`, or give "
      "another --run-dir",
      run.run_dir.string(),
      is_alive ? fmt::format(" (pid {}, since {})", record->launcher.pid, record->started_at) : "",
      run.run_dir.string()));
}

/// Where an open folder lies now.
fs::path place_of(int folder) { return fs::read_symlink(fmt::format("/proc/self/fd/{}", folder)); }

/// The background process: cut off from the terminal once it is recorded, then the ranks.
[[noreturn]] void run_in_background(const DetachedRun& run, const launch::SignalQueue& signals,
                                    int log, int words, const RunRanks& run_ranks) {
  const fs::path record_path = launcher_file(run.run_dir, run.node_rank, ".json");
  const launch::Descriptor folder(open(run.run_dir.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  std::optional<RunRecord> record;
  const int code = exit_code_of([&] {
    setsid();
    while (signals.next() != 0) continue;  // of before: they were for who waits
    sigprocmask(SIG_SETMASK, &signals.previous_mask(), nullptr);
    RunRecord started{.launcher = identity_of(getpid()).value(),
                      .host = run.host,
                      .command = run.command,
                      .started_at = local_time("%Y-%m-%dT%H:%M:%S%z"),
                      .exit_code = std::nullopt};
    write_record(record_path, started);  // while what is wrong with it can be told on the terminal
    record = std::move(started);
    dup2(open("/dev/null", O_RDONLY | O_CLOEXEC), STDIN_FILENO);
    dup2(log, STDOUT_FILENO);
    dup2(log, STDERR_FILENO);
    if (write(words, "\n", 1) != 1) return static_cast<int>(base::ExitCode::kInternal);
    fcntl(words, F_SETFD, 0);  // the ranks get it
    return run_ranks(words);
  });
  if (record) {
    record->exit_code = code;
    exit_code_of([&] {
      const fs::path now = place_of(folder.get());  // it may have been moved
      return write_record(launcher_file(now, run.node_rank, ".json"), *record), 0;
    });
  }
  std::fflush(nullptr);
  _exit(code);
}

}  // namespace

int run_detached(const DetachedRun& run, const RunRanks& run_ranks) {
  make_run_dir(run.run_dir);
  const fs::path log_path = launcher_file(run.run_dir, run.node_rank, ".log");
  launch::Descriptor log = open_log(log_path, O_WRONLY | O_APPEND);
  require_unused(run, log.get());
  launch::Descriptor log_to_read = open_log(log_path, O_RDONLY);
  lseek(log_to_read.get(), 0, SEEK_END);
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0)
    throw base::InternalError(fmt::format("cannot make a pipe: {}", std::strerror(errno)));
  launch::Descriptor words(ends[0]);
  launch::Descriptor words_to_write(ends[1]);
  std::fflush(nullptr);
  // From here on a Ctrl-C is for the wait: a background process that begins would die of it.
  const launch::SignalQueue signals({SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGCHLD});
  const pid_t pid = fork();
  if (pid < 0) throw base::InternalError(fmt::format("cannot fork: {}", std::strerror(errno)));
  if (pid == 0) run_in_background(run, signals, log.get(), words_to_write.get(), run_ranks);
  words_to_write.reset();
  log.reset();
  return await_first_step({.run_dir = run.run_dir,
                           .log_path = log_path,
                           .log = std::move(log_to_read),
                           .words = std::move(words),
                           .num_ranks = run.num_ranks,
                           .launcher = pid},
                          signals);
}

}  // namespace paceline::launcher
