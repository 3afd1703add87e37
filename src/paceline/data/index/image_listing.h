#pragma once

#include "paceline/data/index/listing_progress.h"
#include "paceline/data/storage/storage.h"

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace paceline::data {

/// What an image folder's index is made of.
struct ListedFolder {
  std::string path;  ///< relative to the root
  std::int64_t changed = 0;
  std::vector<FileEntry> files;       ///< images by their names
  std::vector<std::string> left_out;  ///< relative to the root, in words
};

/// When a folder changed last. Throws DataError if it is not there.
std::int64_t time_of_change(const std::filesystem::path& folder, const Storage& storage);

/// The folder of a class in `root` and all below it, sorted by path. Throws DataError if folders
/// are nested too deep, and Interrupted.
std::vector<ListedFolder> list_class(const std::filesystem::path& root, const std::string& name,
                                     const Storage& storage, ListingProgress& progress);

/// Throws DataError that names the classes whose folders hold no image.
void require_images(const std::filesystem::path& root, std::span<const std::string> classes,
                    std::span<const std::vector<ListedFolder>> listed);

}  // namespace paceline::data
