#pragma once

#include "paceline/base/file.h"

#include <deque>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace paceline::launch {

/// Cuts a stream of bytes into whole lines.
class LineSplitter {
 public:
  /// Longer lines are cut here, so that a rank cannot fill the launcher's memory.
  static constexpr std::size_t kMaxLine = std::size_t{64} * 1024;

  /// The lines that `bytes` completes, without their '\n'.
  std::vector<std::string> add(std::string_view bytes);
  /// What follows the last '\n', at the end of the stream; empty if nothing.
  std::string finish();

 private:
  std::string partial_;
};

/// A file descriptor that is written without ever blocking: what it does not take at once waits.
class OutputSink {
 public:
  /// Beyond this much waiting output the reader should pause.
  static constexpr std::size_t kHighWater = 1 << 20;

  explicit OutputSink(int descriptor) : descriptor_(descriptor) {}

  void write_line(std::string_view prefix, std::string_view line);
  /// Writes what the descriptor takes now.
  void flush();

  int descriptor() const { return descriptor_; }
  bool has_pending() const { return !pending_.empty(); }
  bool is_full() const { return pending_.size() > kHighWater; }
  /// The reader at the other end is gone; later output is dropped.
  bool is_closed() const { return is_closed_; }

 private:
  int descriptor_;
  std::string pending_;
  bool is_closed_ = false;
};

/// One rank's log file, opened for appending; both its streams in order of arrival.
class RankLog {
 public:
  /// Throws FileError if the file cannot be opened.
  RankLog(base::FileSystem& files, const std::filesystem::path& path)
      : path_(path), file_(files.append(path)) {}

  /// Throws FileError when the file takes no more (a full disk); later lines are then dropped.
  void write_line(std::string_view line);
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
  std::unique_ptr<base::OutputFile> file_;  ///< null after a failed write
};

/// The last lines of a rank, for the report of its failure.
class LastLines {
 public:
  static constexpr std::size_t kCapacity = 20;
  void add(std::string line);
  const std::deque<std::string>& lines() const { return lines_; }

 private:
  std::deque<std::string> lines_;
};

}  // namespace paceline::launch
