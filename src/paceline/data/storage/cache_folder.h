#pragma once

#include "paceline/base/file.h"

#include <filesystem>

namespace paceline::data {

/// $XDG_CACHE_HOME/paceline, by default ~/.cache/paceline; empty if there is no home.
std::filesystem::path user_cache();

/// Removes the files of base::unfinished_path() in `folder` that nobody has written to for an hour:
/// their writers must have died. Other machines may share the folder. Throws FileError.
void remove_abandoned_files(const std::filesystem::path& folder, base::FileSystem& files);

}  // namespace paceline::data
