#pragma once

#include "paceline/base/file.h"
#include "paceline/checkpoint/listing.h"

#include <filesystem>
#include <string>

namespace paceline::checkpoint {

/// The symbolic links `last` and `best` in a folder of checkpoints.
inline constexpr const char* kLastLink = "last";
inline constexpr const char* kBestLink = "best";

/// Points the links at the newest and the best checkpoint, for people and their scripts: paceline
/// itself finds both by the manifests. The link of what is not there is removed. For the one
/// process that holds the folder's lock. Throws FileError, also where there can be no links.
void point_links(base::FileSystem& files, const std::filesystem::path& folder,
                 const std::string& monitor, MonitorMode mode);

/// For the time in which they would point at what has gone elsewhere. Throws FileError.
void remove_links(base::FileSystem& files, const std::filesystem::path& folder);

}  // namespace paceline::checkpoint
