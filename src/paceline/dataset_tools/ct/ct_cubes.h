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
  volume::Affine affine{};                             ///< of the largest cube
  std::vector<std::vector<std::int16_t>> values = {};  ///< of each side: z, y, x
  std::vector<std::uint16_t> xrays = {};               ///< make_xrays(); empty: there are none

  std::size_t num_arrays() const { return values.size() + (xrays.empty() ? 0 : 1); }
  /// The little-endian bytes of what goes into one of ct_array_layouts(). Valid while this lives.
  std::string_view bytes(std::size_t array) const {
    if (array == values.size())
      return {reinterpret_cast<const char*>(xrays.data()),  // NOLINT: to be written
              xrays.size() * sizeof(std::uint16_t)};
    return {reinterpret_cast<const char*>(values[array].data()),  // NOLINT: as above
            values[array].size() * sizeof(std::int16_t)};
  }
};

/// Orients a scan to RAS+, resamples it to a cube of settings.fov_mm and the largest side, and
/// halves that as often as the other sides say; each is rounded to HU by itself. Throws DataError,
/// which `name` begins, if the scan's axes are not at right angles.
CtCubes make_cubes(data::CtVolume volume, const CtSettings& settings, const std::string& name);

}  // namespace paceline::dataset_tools
