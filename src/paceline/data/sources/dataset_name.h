#pragma once

#include "paceline/data/storage/storage.h"

#include <filesystem>
#include <memory>
#include <string>

namespace paceline::data {

/// The name by which a recipe would read what lies at `path`: a folder, or CIFAR's archive. Looks
/// at names only. Throws DataError that says what was looked for.
std::string dataset_name(const std::filesystem::path& path,
                         const std::shared_ptr<const Storage>& storage = local_storage());

}  // namespace paceline::data
