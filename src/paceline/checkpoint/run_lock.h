#pragma once

#include <filesystem>

namespace paceline::checkpoint {

/// Holds a run's directory for this process, so that a second run cannot write into it. The system
/// frees the lock when the process ends, however it ends. The file <run>/lock stays behind and
/// means nothing by itself; it names the holder's process and host.
class RunLock {
 public:
  /// Makes the directory if need be. Throws CheckpointError that names the process which holds it,
  /// or that says why the directory cannot be written.
  explicit RunLock(const std::filesystem::path& run_directory);
  ~RunLock();

  RunLock(const RunLock&) = delete;
  RunLock& operator=(const RunLock&) = delete;

 private:
  int fd_;
};

}  // namespace paceline::checkpoint
