#pragma once

#include <filesystem>
#include <string>

namespace paceline::data {

/// The name by which a recipe would read what lies at `path`: a folder, or CIFAR's archive. Looks
/// at names only. Throws DataError that says what was looked for.
std::string dataset_name(const std::filesystem::path& path);

}  // namespace paceline::data
