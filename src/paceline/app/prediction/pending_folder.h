#pragma once

#include "paceline/base/file.h"

#include <filesystem>

namespace paceline::app {

/// A folder that gets its name when all of it is on disk, and leaves nothing if that fails.
class PendingFolder {
 public:
  /// `files` must outlive it. Throws FileError where the folder is there already, or cannot be
  /// written beside.
  PendingFolder(base::FileSystem& files, const std::filesystem::path& folder);
  /// Removes what was not published.
  ~PendingFolder();
  PendingFolder(const PendingFolder&) = delete;
  PendingFolder& operator=(const PendingFolder&) = delete;

  /// Where it is written meanwhile.
  const std::filesystem::path& path() const { return temporary_; }
  /// When its files are on disk. Throws FileError.
  void publish();

 private:
  base::FileSystem& files_;
  std::filesystem::path folder_;
  std::filesystem::path temporary_;
  bool is_published_ = false;
};

}  // namespace paceline::app
