#pragma once

#include "paceline/data/dataset/field.h"
#include "paceline/data/sources/ct/ct_config.h"

#include <string_view>

namespace paceline::data {

// What a data set of CT volumes says of all its samples, and what tasks look for in them.

inline constexpr std::string_view kHuWindow = "hu_window";      ///< HU that are -1 and 1
inline constexpr std::string_view kFullScale = "full_scale";    ///< the integral of an X-ray's 1
inline constexpr std::string_view kFovMm = "fov_mm";            ///< side of the cube
inline constexpr std::string_view kViewAngles = "view_angles";  ///< in degrees
/// Millimetres from source to isocentre and from source to detector; empty: parallel beams.
inline constexpr std::string_view kConeBeam = "cone_beam";
inline constexpr std::string_view kRayMethod = "ray_method";  ///< volume::RayMethod, as a number

/// The field of X-rays before gain and noise, which volumes are to agree with; there is none where
/// the field of X-rays is that.
inline constexpr std::string_view kCleanXraysField = "clean_xrays";

/// All of them, by a recipe's data whose cubes are so large.
SampleConstants ct_constants(const CtConfig& config, double fov_mm);

}  // namespace paceline::data
