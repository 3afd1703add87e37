#pragma once

#include <filesystem>

namespace paceline::base {

/// Where a plug-in is: what the environment variable names, or if it is not set or empty,
/// ../lib/`file_name` beside the program.
std::filesystem::path plugin_path(const char* variable, const char* file_name);

}  // namespace paceline::base
