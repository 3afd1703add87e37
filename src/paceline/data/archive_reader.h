#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace paceline::data {

/// The members of an archive (tar, zip; compressed or not) whose base names are in `names`, by base
/// name. Reads on only until all are found. Throws DataError that names the archive if it is
/// damaged.
std::map<std::string, std::vector<std::uint8_t>> read_archive_members(
    const std::filesystem::path& path, const std::set<std::string>& names);

}  // namespace paceline::data
