#pragma once

#include "paceline/base/file.h"

#include <filesystem>

namespace paceline::base {

/// All files and folders below a folder, and it, are on disk when this returns, whoever wrote them;
/// its own name is not (FileSystem::sync_directory). For many small files: to sync each as it is
/// written takes far longer. Throws FileError.
void sync_all(FileSystem& files, const std::filesystem::path& folder);

}  // namespace paceline::base
