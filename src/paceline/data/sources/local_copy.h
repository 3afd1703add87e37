#pragma once

#include "paceline/base/file.h"
#include "paceline/data/storage/storage.h"

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace paceline::data {

/// For sources that map their files or read all of them: copies those of `names` (relative to the
/// remote folder `path`) that are there, or `path` itself if that is a file, to a folder below
/// `storage.cache_folder()` and returns the place of the folder or file. Copies that have the size
/// and version of their originals are kept from the last time. Ranks may do this at the same time.
///
/// Throws DataError if there is nothing to copy or no place for it.
std::filesystem::path copy_to_this_machine(
    const Storage& storage, const std::string& path, const std::vector<std::string>& names,
    const std::shared_ptr<base::FileSystem>& files = std::make_shared<base::RealFileSystem>());

}  // namespace paceline::data
