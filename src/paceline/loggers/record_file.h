#pragma once

#include "paceline/base/file.h"

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace paceline::loggers {

struct RecordFileOptions {
  std::chrono::milliseconds retry_after{5000};  ///< between two tries of a disk that fails
  std::size_t most_waiting_bytes = std::size_t{64} << 20;  ///< beyond that records are lost
};

/// A file of a run that grows by records and must never end the run: what cannot be written, as on
/// a full disk, is kept and tried again. The first failure is a warning, and so is the end of it.
/// Not thread-safe.
class RecordFile {
 public:
  using Open = std::function<std::unique_ptr<base::OutputFile>()>;

  /// `logger` is for messages; `open` is called by the first write, and anew after
  /// failures of its own and where the file was removed.
  RecordFile(std::string logger, Open open, RecordFileOptions options = {});

  /// Takes a record; nothing is written yet.
  void add(std::string_view record);
  /// Gives the file all records that wait, unless the disk failed a moment ago.
  void write_out();
  /// What was added so far is on disk when this returns, unless that fails. Throws nothing.
  void sync();
  /// Closes the file; the next write opens it anew.
  void reset() { file_.reset(); }

  /// For summary.json; nothing where all was written: "failed_writes" and "lost_records", those
  /// that wait among them.
  std::vector<std::pair<std::string, double>> failures() const;

 private:
  using Clock = std::chrono::steady_clock;

  /// Whether nothing waits any more.
  bool try_to_write();
  void note_failure(const std::exception& error);

  std::string logger_;
  Open open_;
  RecordFileOptions options_;
  std::unique_ptr<base::OutputFile> file_;
  std::string waiting_;
  std::int64_t num_waiting_ = 0;  ///< records
  bool is_synced_ = true;         ///< what the file was given
  bool is_failing_ = false;
  Clock::time_point last_failure_;
  std::int64_t num_failures_ = 0;
  std::int64_t num_lost_ = 0;
};

}  // namespace paceline::loggers
