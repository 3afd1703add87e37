#pragma once

#include "paceline/base/file.h"

#include <filesystem>

namespace paceline::dataset_tools {

/// Holds a folder of volumes for this process while it is written, so that a second call cannot
/// spoil it. The system frees the lock when the process ends, however it ends; the file `lock` in
/// the folder is removed at the end of this object's life, and means nothing by itself.
class CtLock {
 public:
  /// Makes the folder if need be. Throws ConfigError that names the process which holds it; on a
  /// file system without locks it warns and goes on. Throws FileError.
  CtLock(const std::filesystem::path& folder, base::FileSystem& files);
  ~CtLock();
  CtLock(const CtLock&) = delete;
  CtLock& operator=(const CtLock&) = delete;

 private:
  void say_who_holds_it() const;

  std::filesystem::path path_;
  int descriptor_ = -1;  ///< or -1 without locks
};

}  // namespace paceline::dataset_tools
