#pragma once

#include "paceline/data/formats/npy_file.h"
#include "paceline/volume/affine.h"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace paceline::data {

/// What `paceline data prepare ct` writes beside its arrays.
inline constexpr const char* kCtManifestName = "ct_manifest.json";
inline constexpr const char* kCtFormat = "paceline ct volumes";  ///< what that calls itself
inline constexpr int kCtVersion = 1;

/// One patient of a split.
struct CtSetPatient {
  std::string code;            ///< stands for who it is
  volume::Affine affine{};     ///< of voxel (x, y, z) of the largest cube
  std::string cube_hash;       ///< xxh3_128_hex() of the bytes of the cube of the chosen side
  std::string xray_hash = {};  ///< likewise of the X-rays of CtSet::xray_size; empty: it has none
};

/// One split of a folder that was prepared, of one side.
struct CtSet {
  double fov_mm = 0;
  std::int64_t side = 0;  ///< voxels
  std::int64_t largest_side = 0;
  std::int64_t xray_size = 0;          ///< of the X-rays that the manifest knows; 0: of none
  std::vector<CtSetPatient> patients;  ///< in the order of the arrays
  NpyArray cubes;                      ///< mapped; int16 HU, [patients, side, side, side]: z, y, x
};

/// Opens FOLDER/SPLIT/volume_SIDE.npy by the manifest; of no side: the largest. Throws ConfigError
/// for a side that was not made, AbsentPartError for a split without patients, DataError if files
/// are missing, damaged or do not fit each other.
CtSet open_ct_set(const std::filesystem::path& folder, std::string_view split,
                  std::optional<std::int64_t> side);

/// Sizes of the arrays xrays_SIZE.npy in a split's folder, from the smallest on.
std::vector<std::int64_t> xray_sizes_in(const std::filesystem::path& split_folder);

/// Opens FOLDER/SPLIT/xrays_SIZE.npy, uint16 [patients, views, size, size], of which 65535 is the
/// intensity 1. Throws DataError that names the file unless it has these patients and views.
NpyArray open_xrays(const std::filesystem::path& split_folder, std::int64_t size,
                    std::size_t num_patients, std::size_t num_views);

/// The affine of a cube of another side around the same middle. `side` divides `largest_side`.
volume::Affine affine_of_side(const volume::Affine& affine, std::int64_t largest_side,
                              std::int64_t side);

}  // namespace paceline::data
