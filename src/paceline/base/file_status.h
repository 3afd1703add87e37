#pragma once

#include "paceline/base/file.h"

#include <filesystem>
#include <string_view>

namespace paceline::base {

/// Whether the path leads to anything. Throws FileError where that is not known, as with a name
/// that is too long, links in a circle or a folder that may not be searched.
bool file_exists(const std::filesystem::path& path);
/// The same for a folder.
bool folder_exists(const std::filesystem::path& path);

/// Whether a path is a folder's own or lies below it, links followed; neither need exist.
bool lies_in(const std::filesystem::path& path, const std::filesystem::path& folder);

/// What the standard library throws where nobody asked it for the error number, as our own error.
FileError file_error_of(const std::filesystem::filesystem_error& error);

/// What follows the name in an unfinished_path(), before sixteen hexadecimal digits.
inline constexpr std::string_view kUnfinishedMark = ".tmp-";
/// Whether a name, without its folder, is one that unfinished_path() makes.
bool is_unfinished_name(std::string_view name);

}  // namespace paceline::base
