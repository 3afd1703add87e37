#pragma once

#include "paceline/volume/affine.h"

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>

namespace paceline::volume {

/// The affine of a cube around the isocentre, CubeGrid's; i is x, j y and k z.
Affine affine_of_cube(int side, double fov_mm);

/// A volume to be written: values in the order [k][j][i], `sizes` are those of i, j and k.
struct NiftiVolume {
  std::array<int, 3> sizes;
  Affine affine;
  std::variant<std::span<const float>, std::span<const std::int16_t>, std::span<const std::uint8_t>>
      values;
  std::string_view description = {};  ///< at most 79 bytes, of what programs show
};

/// The bytes of a NIfTI-1 file (".nii") with this volume: little-endian, its affine as sform and,
/// as far as that has one, as qform, both of scanner space; no slope. Throws InternalError for
/// values that are not as many as the sizes say, ConfigError for sides above 32767, which NIfTI-1
/// cannot tell.
std::string nifti_bytes(const NiftiVolume& volume);

/// The same compressed by gzip, as ".nii.gz" has it. The same bytes for the same volume.
std::string gzipped_nifti_bytes(const NiftiVolume& volume);

}  // namespace paceline::volume
