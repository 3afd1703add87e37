#pragma once

#include "paceline/base/file.h"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace paceline::data {

/// The members of an archive (tar, zip; compressed or not) whose base names are in `names`, by base
/// name. Reads on only until all are found. Throws DataError that names the archive if it is
/// damaged, and the member if it has more than `max_bytes`.
std::map<std::string, std::vector<std::uint8_t>> read_archive_members(
    const std::filesystem::path& path, const std::set<std::string>& names,
    std::size_t max_bytes = std::size_t{256} << 20);

/// The same of an archive in memory; `name` is for messages.
std::map<std::string, std::vector<std::uint8_t>> read_archive_members(
    std::string_view archive, const std::string& name, const std::set<std::string>& names,
    std::size_t max_bytes = std::size_t{256} << 20);

/// Unpacks an archive into `folder`, which is made. Throws DataError if it is damaged, holds
/// anything but folders and files, a path that would leave the folder, or a hundred times more than
/// its own size and more than `harmless_bytes`; FileError. `progress` is
/// called with the members done.
void unpack_archive(const std::filesystem::path& path, const std::filesystem::path& folder,
                    base::FileSystem& files,
                    const std::function<void(std::int64_t done)>& progress = {},
                    std::uint64_t harmless_bytes = std::uint64_t{1} << 30);

}  // namespace paceline::data
