#pragma once

#include "paceline/base/file.h"
#include "paceline/launch/supervised_rank.h"

#include <filesystem>

namespace paceline::launcher {

/// Holds a sweep's folder for this process. The system frees the lock when the process ends,
/// however it ends; the file `lock` stays and means nothing by itself.
class SweepLock {
 public:
  /// Makes the folder if need be. Throws CheckpointError that names the process which holds it.
  SweepLock(const std::filesystem::path& folder, base::FileSystem& files);

 private:
  launch::Descriptor descriptor_;
};

}  // namespace paceline::launcher
