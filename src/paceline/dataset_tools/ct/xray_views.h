#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace paceline::dataset_tools {

/// How people call the view at an angle of volume::ProjectionGeometry: "frontal" (0), "lateral"
/// (90), or "45".
std::string view_name(double angle_degrees);
/// The angle of such a word; nothing if it is no view.
std::optional<double> view_angle(std::string_view word);

/// What follows the patient's ID in the names of files of a view: _pa_drr, _pa and _frontal, or
/// _lat_drr, _lat and _lateral, or of another angle _45.
std::vector<std::string> view_marks(double angle_degrees);

/// The file of a view among `entries` of the folder of a patient, whose files begin with `id`;
/// empty if there is none. Throws DataError, which `name` begins, if there are several.
std::filesystem::path find_view(std::span<const std::filesystem::path> entries,
                                const std::string& id, double angle_degrees,
                                const std::string& name);

/// "ID_pa_drr.png, ID_pa.png, ID_frontal.png (or .jpg, .tif, .dcm)": what a view may be called.
std::string expected_view_files(double angle_degrees);

}  // namespace paceline::dataset_tools
