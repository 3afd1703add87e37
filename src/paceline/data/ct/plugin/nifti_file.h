#pragma once

#include "paceline/data/ct/ct_volume.h"

#include <filesystem>
#include <string>

namespace paceline::data {

/// CtPlugin::read_nifti(). The library gives the layout of headers, byte orders and quaternions;
/// its own reading of files mends damaged fields silently and is not used.
CtVolume read_nifti_file(const std::filesystem::path& path, const std::string& name);

}  // namespace paceline::data
