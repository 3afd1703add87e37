#pragma once

#include "paceline/data/ct/ct_volume.h"
#include "paceline/dataset_tools/ct/ct_manifest.h"

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace paceline::dataset_tools {

/// What is stored of one scan.
struct CtCubes {
  std::array<std::int64_t, 3> sizes{};  ///< of the scan, after it was oriented
  std::array<double, 3> spacing_mm{};
  data::VolumeAffine affine{};                         ///< of the largest cube
  std::vector<std::vector<std::int16_t>> values = {};  ///< of each side: z, y, x

  /// The little-endian bytes of one cube. Valid while this lives.
  std::string_view bytes(std::size_t side) const {
    return {reinterpret_cast<const char*>(values[side].data()),  // NOLINT: to be written
            values[side].size() * sizeof(std::int16_t)};
  }
};

/// Orients a scan to RAS+, resamples it to a cube of settings.fov_mm and the largest side, and
/// halves that as often as the other sides say; each is rounded to HU by itself. Throws DataError,
/// which `name` begins, if the scan's axes are not at right angles.
CtCubes make_cubes(data::CtVolume volume, const CtSettings& settings, const std::string& name);

}  // namespace paceline::dataset_tools
