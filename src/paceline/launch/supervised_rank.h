#pragma once

#include "paceline/launch/output_relay.h"
#include "paceline/launch/rank_process.h"

#include <array>
#include <functional>
#include <memory>
#include <string_view>
#include <utility>

namespace paceline::launch {

/// A file descriptor with an owner.
class Descriptor {
 public:
  explicit Descriptor(int number = -1) : number_(number) {}
  ~Descriptor() { reset(); }
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    if (this != &other) reset(std::exchange(other.number_, -1));
    return *this;
  }

  int get() const { return number_; }
  bool is_open() const { return number_ >= 0; }
  void reset(int number = -1);

 private:
  int number_;
};

/// A rank's process with the pipes that carry its output.
class SupervisedRank {
 public:
  enum Stream { kStdout = 0, kStderr = 1 };
  /// Called with each whole line.
  using LineHandler =
      std::function<void(SupervisedRank& rank, Stream stream, std::string_view line)>;

  /// Starts the process; a stream in `inherited` is the launcher's own, the others are pipes. `log`
  /// may be null.
  SupervisedRank(int rank, RankStart start, std::array<bool, 2> inherited,
                 std::unique_ptr<RankLog> log);

  int rank() const { return rank_; }
  pid_t pid() const { return pid_; }
  int process_descriptor() const {
    return process_.get();
  }  ///< readable once the process has ended
  int pipe(Stream stream) const { return pipes_[stream].get(); }  ///< -1: none, or at its end
  bool is_alive() const { return is_alive_; }
  bool is_told_to_stop() const { return is_told_to_stop_; }
  bool is_captured() const { return is_captured_; }
  RankLog* log() { return log_.get(); }
  const LastLines& last_lines() const { return last_lines_; }

  /// Reads what the pipe holds now, at most about `limit` bytes; closes it at its end.
  void read(Stream stream, std::size_t limit, const LineHandler& handler);
  /// Reads what both pipes hold and hands on an unfinished last line too.
  void read_rest(const LineHandler& handler);

  /// To the process alone: its helpers are its own to end.
  void signal_process(int signal) const;
  /// To the process and all that it has started, as a terminal's Ctrl-C.
  void signal_group(int signal) const;
  /// By SIGTERM, which tells how long it has before it is killed (sigqueue's value, in ms).
  void tell_to_stop(double seconds);

  /// Call when process_descriptor() is readable; returns the status of waitpid. What is left of the
  /// group of a rank that failed is killed.
  int reap();

 private:
  int rank_;
  pid_t pid_ = -1;
  Descriptor process_;
  std::array<Descriptor, 2> pipes_;
  std::array<LineSplitter, 2> splitters_;
  std::unique_ptr<RankLog> log_;
  LastLines last_lines_;
  bool is_alive_ = true;
  bool is_told_to_stop_ = false;
  bool is_captured_ = false;
};

}  // namespace paceline::launch
