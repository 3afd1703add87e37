#include "paceline/launcher/run_control.h"

#include "paceline/base/error.h"
#include "paceline/base/file_status.h"
#include "paceline/launch/environment.h"
#include "paceline/launch/machine.h"
#include "paceline/launch/supervised_rank.h"
#include "paceline/launcher/run_record.h"
#include "paceline/launcher/verbs.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <optional>
#include <thread>

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace paceline::launcher {
namespace {

namespace fs = std::filesystem;

constexpr auto kFollowInterval = std::chrono::milliseconds(100);
constexpr int kStopTimeoutSeconds = 60;

/// A detached run as seen from this machine.
struct FoundRun {
  RunRecord record;
  fs::path record_path;

  fs::path log_path() const { return fs::path(record_path).replace_extension(".log"); }
};

bool is_record_name(const std::string& name) {
  return name.starts_with("launcher") && name.ends_with(".json");
}

/// The record of this machine's launcher; nodes that share a file system write theirs side by side.
/// Throws ConfigError if there is none.
FoundRun find_run(const fs::path& run_dir) {
  const std::string host = launch::this_machine({}).host_name;
  std::string other_hosts;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(run_dir, error)) {
    if (!is_record_name(entry.path().filename())) continue;
    const auto record = read_record(entry.path());
    if (!record) continue;
    if (record->host == host) return {*record, entry.path()};
    other_hosts += (other_hosts.empty() ? "" : ", ") + record->host;
  }
  if (error && error != std::errc::no_such_file_or_directory)
    throw base::ConfigError(
        fmt::format("{}: cannot be listed: {}", run_dir.string(), error.message()));
  if (!other_hosts.empty())
    throw base::ConfigError(
        fmt::format("{} was not started on this machine ({}) but on {}: give the command there",
                    run_dir.string(), host, other_hosts));
  throw base::ConfigError(
      fmt::format("{0} holds no detached run (no launcher.json): give the run directory that "
                  "`paceline train --detach` printed{1}",
                  run_dir.string(),
                  base::file_exists(run_dir / "log.txt")
                      ? fmt::format("; what this run said stands in {}/log.txt", run_dir.string())
                      : ""));
}

int print_usage(const std::string& verb) {
  std::fputs(usage_text(verb).c_str(), stdout);
  return 0;
}

/// The one argument that is not an option.
std::string only_argument(const std::string& verb, const std::vector<std::string>& arguments) {
  if (arguments.size() == 1 && !arguments[0].starts_with('-')) return arguments[0];
  for (const std::string& argument : arguments)
    if (argument.starts_with('-'))
      throw base::ConfigError(fmt::format("paceline {} has no option {}", verb, argument));
  throw base::ConfigError(
      fmt::format("paceline {} needs one run directory, but got {}", verb, arguments.size()));
}

/// Takes an option and the number behind it out of the arguments, if it is there.
std::optional<int> take_number(std::vector<std::string>& arguments, const std::string& option,
                               int least) {
  const std::string joined = option.starts_with("--") ? option + "=" : option;  // --lines=5, -n5
  for (auto found = arguments.begin(); found != arguments.end(); ++found) {
    const bool is_apart = *found == option;
    if (!is_apart && !found->starts_with(joined)) continue;
    if (is_apart && found + 1 == arguments.end())
      throw base::ConfigError(fmt::format("{} needs a number", option));
    const std::string value = is_apart ? found[1] : found->substr(joined.size());
    arguments.erase(found, found + (is_apart ? 2 : 1));
    return launch::parse_int(option, value, least, 1'000'000);
  }
  return std::nullopt;
}

/// Of a file alone: a planted link would show another file, and a pipe would never end.
launch::Descriptor open_for_reading(const fs::path& path) {
  launch::Descriptor log(open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!log.is_open()) throw base::FileError("read", path, errno);
  struct stat status {};
  if (fstat(log.get(), &status) != 0) throw base::FileError("read", path, errno);
  if (!S_ISREG(status.st_mode))
    throw base::FileError("read", path, "no detached run has made it: it is no regular file");
  return log;
}

/// Where a file's last lines begin.
off_t start_of_last_lines(int file, int num_lines) {
  std::array<char, 1 << 14> buffer;
  const off_t size = lseek(file, 0, SEEK_END);
  int num_ends = 0;  // of lines before
  for (off_t end = size; end > 0;) {
    const off_t begin = std::max<off_t>(0, end - static_cast<off_t>(buffer.size()));
    const auto count = static_cast<std::size_t>(end - begin);
    if (pread(file, buffer.data(), count, begin) != static_cast<ssize_t>(count)) break;
    for (off_t place = end; place-- > begin;) {
      const bool is_end = buffer[static_cast<std::size_t>(place - begin)] == '\n';
      if (is_end && place + 1 < size && ++num_ends == num_lines) return place + 1;
    }
    end = begin;
  }
  return 0;
}

/// Copies what `log` holds from its position on.
void copy_to_stdout(int log) {
  std::array<char, 1 << 16> buffer;
  while (true) {
    const ssize_t size = read(log, buffer.data(), buffer.size());
    if (size <= 0) break;
    if (std::fwrite(buffer.data(), 1, static_cast<std::size_t>(size), stdout) == 0) break;
  }
  std::fflush(stdout);
}

std::string how_it_ended(const FoundRun& run) {
  const auto record = read_record(run.record_path);
  if (!record || !record->exit_code) return "was killed (its launcher left no exit code)";
  return fmt::format("has ended with exit code {}", *record->exit_code);
}

/// Waits until the launcher is gone or the time is over; whether it is gone.
bool wait_for_end(const RunRecord& record, int process, int seconds) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(seconds);
  while (record.is_alive()) {
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
    if (left.count() <= 0) return false;
    pollfd end{process, POLLIN, 0};
    poll(&end, 1, static_cast<int>(std::min<long>(left.count(), 3'600'000)));
  }
  return true;
}

}  // namespace

int run_logs(const std::string& name, const std::vector<std::string>& arguments) {
  if (asks_for_help(arguments)) return print_usage(name);
  std::vector<std::string> rest = arguments;
  const auto follows = [](const std::string& text) { return text == "-f" || text == "--follow"; };
  const bool is_following = std::erase_if(rest, follows) > 0;
  std::optional<int> num_lines = take_number(rest, "-n", 1);
  if (const auto lines = take_number(rest, "--lines", 1)) num_lines = lines;
  const FoundRun run = find_run(only_argument(name, rest));
  const launch::Descriptor log = open_for_reading(run.log_path());
  if (num_lines) lseek(log.get(), start_of_last_lines(log.get(), *num_lines), SEEK_SET);
  while (is_following && run.record.is_alive()) {
    copy_to_stdout(log.get());
    std::this_thread::sleep_for(kFollowInterval);
  }
  copy_to_stdout(log.get());
  if (is_following) std::fprintf(stderr, "paceline: the run %s\n", how_it_ended(run).c_str());
  return 0;
}

int run_stop(const std::string& name, const std::vector<std::string>& arguments) {
  if (asks_for_help(arguments)) return print_usage(name);
  std::vector<std::string> rest = arguments;
  const int timeout = take_number(rest, "--timeout", 0).value_or(kStopTimeoutSeconds);
  const std::string run_dir = only_argument(name, rest);
  const FoundRun run = find_run(run_dir);
  const pid_t pid = run.record.launcher.pid;
  const launch::Descriptor process(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
  // Checked with the descriptor open, so that the signal cannot reach a later process of that
  // number.
  if (!process.is_open() || !run.record.is_alive()) {
    std::printf("paceline: %s is not running: it %s\n", run_dir.c_str(), how_it_ended(run).c_str());
    return 0;
  }
  if (syscall(SYS_pidfd_send_signal, process.get(), SIGTERM, nullptr, 0) != 0 && errno != ESRCH)
    throw base::ConfigError(fmt::format("cannot stop pid {}: {}", pid, std::strerror(errno)));
  if (!wait_for_end(run.record, process.get(), timeout))
    throw base::CommError(fmt::format(
        "{} is still stopping after {} s; it may be writing a checkpoint. Wait on with "
        "`paceline stop --timeout 600 {}`, or end it at once, without a checkpoint, with "
        "`kill -KILL {}`",
        run_dir, timeout, run_dir, pid));
  std::printf("paceline: stopped %s: it %s\n", run_dir.c_str(), how_it_ended(run).c_str());
  return 0;
}

}  // namespace paceline::launcher
