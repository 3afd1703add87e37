#pragma once

#include "paceline/data/dataset/split.h"
#include "paceline/data/storage/storage.h"

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace paceline::data {

/// Throws ConfigError unless data.path is set, which `dataset` needs.
void require_path(std::string_view path, std::string_view dataset);

/// The place that data.path names, of this machine or remote. Throws ConfigError without a path.
std::filesystem::path place_of(const std::string& path, std::string_view dataset);

/// The same on this machine: of a remote place those of `files` that are there are copied first.
/// Throws DataError if that fails.
std::filesystem::path local_place_of(const std::string& path, std::string_view dataset,
                                     const std::shared_ptr<const Storage>& storage,
                                     const std::vector<std::string>& files);

/// A split's folder, relative to the data set's; "." is that itself.
std::string folder_of(const std::string& train_folder, const std::string& val_folder, Split split);

/// What data.val_path says of a data set of two folders: the folder of its validation part there,
/// which may be the place itself. Throws DataError that says which to name.
std::string val_folder_at(const std::string& val_path, const std::string& train_folder,
                          const std::string& val_folder, const Storage& storage);

/// Throws DataError unless data.val_path is there; for remote places that is not looked at.
void require_val_path(const std::string& val_path);

/// Throws ConfigError: `dataset`, which reads no files, has no data.val_path.
[[noreturn]] void refuse_val_path(std::string_view dataset);

}  // namespace paceline::data
