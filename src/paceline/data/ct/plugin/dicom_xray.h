#pragma once

#include "paceline/data/ct/ct_plugin.h"

#include <filesystem>
#include <string>

namespace paceline::data {

/// CtPlugin::read_dicom_xray(). Source: PS3.3, C.7.6.3.1.2 and C.11.2.1.2; of several windows the
/// first is taken.
XrayPicture read_xray_file(const std::filesystem::path& path, const std::string& name);

}  // namespace paceline::data
