#pragma once

#include "paceline/base/file.h"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>

namespace paceline::dataset_tools {

/// Makes the folder of a synthetic set: `write(folder)` fills one beside `path`, which is renamed
/// when it is complete, so that an interrupted call leaves no half-written set there. `marker` says
/// what the set was made of and is kept in it. Returns false, and does nothing, when `path` holds a
/// set of this marker already. Throws ConfigError when it holds anything else, DataError when a
/// file cannot be written.
bool write_synth_folder(const std::string& path, const std::string& marker, base::FileSystem& files,
                        const std::function<void(const std::filesystem::path& folder)>& write);

}  // namespace paceline::dataset_tools
