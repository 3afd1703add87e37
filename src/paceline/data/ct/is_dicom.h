#pragma once

#include <filesystem>

namespace paceline::data {

/// Whether a file is DICOM: by DICM at its byte 128, or by its ending. Source: DICOM PS3.10, 7.1.
bool is_dicom(const std::filesystem::path& path);

}  // namespace paceline::data
