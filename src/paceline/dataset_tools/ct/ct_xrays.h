#pragma once

#include "paceline/dataset_tools/ct/ct_listing.h"
#include "paceline/dataset_tools/ct/ct_manifest.h"

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace paceline::dataset_tools {

/// Finds each patient's X-rays in its folder ID, by name: ID_pa_drr, ID_pa or ID_frontal of the
/// frontal view, ID_lat_drr, ID_lat or ID_lateral of the lateral one, of any ending. True if there
/// are some. Throws DataError for a patient with two files for a view, and if some patients have
/// X-rays, for one without a view.
bool find_xrays(std::vector<ListedPatient>& patients);

/// A patient's X-rays as they are stored: uint16 of which 65535 is the intensity 1, [views, size,
/// size]. Pictures of other sizes are resampled by triangle_taps(). `paths` are in the order of
/// kCtViewNames. Throws DataError, which `name` begins, for a file that cannot be read, is no grey
/// PNG or JPEG, or is not square.
std::vector<std::uint16_t> make_xrays(std::span<const std::filesystem::path> paths,
                                      const CtXraySettings& settings, const std::string& name);

}  // namespace paceline::dataset_tools
