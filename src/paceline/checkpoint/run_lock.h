#pragma once

#include "paceline/base/file.h"

#include <filesystem>
#include <string_view>

namespace paceline::checkpoint {

/// Holds a directory that a run writes into for this process, so that a second run cannot write
/// there. The system frees the lock when the process ends, however it ends. The file `lock` in it
/// stays behind and means nothing by itself; it names the holder's process and host.
class RunLock {
 public:
  /// Makes the directory if need be, durably, and removes temporary files that killed processes
  /// left there more than an hour ago. `setting` is what names it: "--run-dir". Throws
  /// CheckpointError that names the process which holds it, or that says why it cannot be written.
  RunLock(const std::filesystem::path& directory, std::string_view setting,
          base::FileSystem& files);
  ~RunLock();

  /// Throws CheckpointError if the directory was removed or replaced since.
  void require() const;

  RunLock(const RunLock&) = delete;
  RunLock& operator=(const RunLock&) = delete;

 private:
  std::filesystem::path path_;  ///< of the file
  int fd_;
};

}  // namespace paceline::checkpoint
