#pragma once

#include "paceline/base/file.h"
#include "paceline/base/interruption.h"

#include <filesystem>
#include <string>

namespace paceline::pretrained {

/// Holds a lock file by flock, as huggingface_hub's own locks do, so that of all programs that want
/// a file one downloads it and the others wait. The file stays.
class FileLock {
 public:
  /// Waits for whoever has it, and says so after a second, with `doing` as in "downloads X". Where
  /// the file system has no locks it warns and goes on without. Throws Interrupted, FileError.
  FileLock(base::FileSystem& files, const std::filesystem::path& path, const std::string& doing,
           const base::Interruption& interruption);
  ~FileLock();
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;

 private:
  int descriptor_ = -1;  ///< or -1 without locks
};

}  // namespace paceline::pretrained
