#pragma once

#include "paceline/data/ct/ct_plugin.h"

#include <filesystem>
#include <span>
#include <string>

namespace paceline::data {

/// CtPlugin::read_dicom_series(). What is stored becomes HU by each slice's own slope and
/// intercept; the photometric interpretation says how a value is shown and changes none.
CtVolume read_dicom_files(std::span<const std::filesystem::path> files, SeriesChoice choice,
                          const std::string& name);

}  // namespace paceline::data
