#pragma once

#include "paceline/data/ct/ct_plugin.h"
#include "paceline/dataset_tools/ct/ct_manifest.h"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace paceline::dataset_tools {

/// Reads a DICOM file of one X-ray picture, as data::CtPlugin::read_dicom_xray().
using ReadDicomXray =
    std::function<data::XrayPicture(const std::filesystem::path& path, const std::string& name)>;

/// An X-ray as it is stored: uint16 of which 65535 is the intensity 1, [size, size]. Of PNG, JPEG,
/// TIFF or, by its beginning or the name .dcm, DICOM; pictures of other sizes are resampled by
/// triangle_taps(). Throws DataError, which `name` begins and in which the path does not stand, for
/// a file that cannot be read, has colours, or is not square.
std::vector<std::uint16_t> make_xray(const std::filesystem::path& path,
                                     const CtXraySettings& settings, const std::string& name,
                                     const ReadDicomXray& read_dicom);

}  // namespace paceline::dataset_tools
