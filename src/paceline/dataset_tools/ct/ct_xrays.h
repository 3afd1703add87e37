#pragma once

#include "paceline/dataset_tools/ct/ct_listing.h"
#include "paceline/dataset_tools/ct/ct_manifest.h"
#include "paceline/dataset_tools/ct/xray_picture.h"

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace paceline::dataset_tools {

/// Finds each patient's X-rays in its folder ID, by the names of view_marks(), of any ending. True
/// if there are some. Throws DataError for a patient with two files for a view, and if some
/// patients have X-rays, for one without a view.
bool find_xrays(std::vector<ListedPatient>& patients);

/// A patient's X-rays as make_xray() makes them, [views, size, size]. `paths` are in the order of
/// kCtViewNames. Throws DataError, which `name` begins.
std::vector<std::uint16_t> make_xrays(std::span<const std::filesystem::path> paths,
                                      const CtXraySettings& settings, const std::string& name,
                                      const ReadDicomXray& read_dicom);

}  // namespace paceline::dataset_tools
