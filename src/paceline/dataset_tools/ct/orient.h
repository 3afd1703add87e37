#pragma once

#include "paceline/data/ct/ct_volume.h"

#include <array>
#include <string>

namespace paceline::dataset_tools {

/// Millimetres from voxel to voxel along i, j and k.
std::array<double, 3> spacing_of(const volume::Affine& affine);

/// Throws DataError, which `name` begins, if two axes of a volume are more than half a degree from
/// a right angle, as with a tilted gantry: such a volume cannot be resampled axis by axis.
void require_right_angles(const volume::Affine& affine, const std::string& name);

/// Turns and mirrors the axes, without resampling, so that i goes to the patient's right, j to the
/// front and k to the head, as nearly as they can; each voxel stays where it was in space. Source:
/// nibabel.as_closest_canonical, of volumes with right angles.
data::CtVolume orient_to_ras(data::CtVolume volume);

}  // namespace paceline::dataset_tools
