#pragma once

#include "paceline/data/ct/ct_volume.h"
#include "paceline/data/ct/plugin/gzip_input.h"

#include <cstdint>
#include <string>

namespace paceline::data {

/// What a NIfTI file says of the one volume that it holds.
struct NiftiHeader {
  std::array<std::int64_t, 3> sizes{};
  volume::Affine affine{};
  int datatype = 0;         ///< a DT_ code of nifti1.h: one that has real numbers of 1 to 8 bytes
  int item_size = 0;        ///< bytes
  bool is_swapped = false;  ///< the values, too, are of the other byte order
  double slope = 1;         ///< what a stored value is multiplied by
  double intercept = 0;     ///< and what is added then
};

/// Reads the header of NIfTI-1 or 2 and what lies between it and the values, which come next.
/// Throws DataError, with cause and cure, for all that is no single volume in millimetres with an
/// affine. Source: nifti1.h and nifti2.h; scaling and the choice of the affine as nibabel.
NiftiHeader read_nifti_header(GzipInput& input, const std::string& name);

}  // namespace paceline::data
