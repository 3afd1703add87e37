#include "paceline/launch/supervised_rank.h"

#include "paceline/base/error.h"
#include "paceline/base/system_limit.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace paceline::launch {
namespace {

constexpr std::size_t kReadSize = std::size_t{64} * 1024;
/// A pipe's capacity can be raised to this by its writer (/proc/sys/fs/pipe-max-size).
constexpr std::size_t kMaxPipe = std::size_t{1024} * 1024;

struct Pipe {
  Descriptor reader;
  Descriptor writer;
};

Pipe make_pipe() {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0)
    throw base::ConfigError(fmt::format("cannot make a pipe for a rank's output ({}): {}",
                                        std::strerror(errno), base::limit_behind(errno)));
  Pipe pipe{Descriptor(ends[0]), Descriptor(ends[1])};
  fcntl(pipe.reader.get(), F_SETFL, O_NONBLOCK);  // the writer's end stays blocking
  return pipe;
}

}  // namespace

void Descriptor::reset(int number) {
  if (number_ >= 0) close(number_);
  number_ = number;
}

SupervisedRank::SupervisedRank(int rank, RankStart start, std::array<bool, 2> inherited,
                               std::unique_ptr<RankLog> log)
    : rank_(rank), log_(std::move(log)), is_captured_(!inherited[kStderr]) {
  std::array<Descriptor, 2> writers;
  const std::array<int*, 2> targets{&start.stdout_descriptor, &start.stderr_descriptor};
  for (const Stream stream : {kStdout, kStderr}) {
    if (inherited[stream]) continue;
    Pipe pipe = make_pipe();
    pipes_[stream] = std::move(pipe.reader);
    writers[stream] = std::move(pipe.writer);
    *targets[stream] = writers[stream].get();
  }
  pid_ = spawn_rank(start);
  process_.reset(static_cast<int>(syscall(SYS_pidfd_open, pid_, 0)));
  if (!process_.is_open()) {
    const int error = errno;
    kill(pid_, SIGKILL);
    if (error == EMFILE || error == ENFILE) {
      throw base::ConfigError(fmt::format("cannot watch a rank ({}): {}", std::strerror(error),
                                          base::limit_behind(error)));
    }
    throw base::InternalError(
        fmt::format("pidfd_open: {} (Linux 5.3 or newer is needed)", std::strerror(error)));
  }
}

void SupervisedRank::read(Stream stream, std::size_t limit, const LineHandler& handler) {
  std::array<char, kReadSize> buffer;
  for (std::size_t total = 0; pipes_[stream].is_open() && total < limit;) {
    const ssize_t size = ::read(pipes_[stream].get(), buffer.data(), buffer.size());
    if (size < 0 && errno == EINTR) continue;
    if (size < 0 && errno == EAGAIN) return;
    std::vector<std::string> lines;
    if (size > 0) {
      lines = splitters_[stream].add({buffer.data(), static_cast<std::size_t>(size)});
      total += static_cast<std::size_t>(size);
    } else {
      pipes_[stream].reset();
      if (std::string rest = splitters_[stream].finish(); !rest.empty()) lines.push_back(rest);
    }
    for (std::string& line : lines) {
      handler(*this, stream, line);
      last_lines_.add(std::move(line));
    }
  }
}

void SupervisedRank::read_rest(const LineHandler& handler) {
  for (const Stream stream : {kStdout, kStderr}) {
    read(stream, kMaxPipe, handler);
    if (std::string rest = splitters_[stream].finish(); !rest.empty()) {
      handler(*this, stream, rest);
      last_lines_.add(std::move(rest));
    }
  }
}

void SupervisedRank::signal_process(int signal) const {
  if (is_alive_) kill(pid_, signal);
}

void SupervisedRank::signal_group(int signal) const {
  if (is_alive_) kill(-pid_, signal);
}

void SupervisedRank::tell_to_stop(double seconds) {
  if (!is_alive_) return;
  is_told_to_stop_ = true;
  constexpr double kLongest = 1e9;  // of an int
  sigval time{};
  time.sival_int = static_cast<int>(std::min(seconds * 1000, kLongest));
  sigqueue(pid_, SIGTERM, time);
}

int SupervisedRank::reap() {
  siginfo_t info{};
  // Not yet reaped, the process keeps its number, so that the group's number cannot be another's.
  waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOWAIT);
  if (info.si_code != CLD_EXITED || info.si_status != 0) kill(-pid_, SIGKILL);
  const int status = reap_child(pid_, 0).value();
  is_alive_ = false;
  process_.reset();
  return status;
}

}  // namespace paceline::launch
