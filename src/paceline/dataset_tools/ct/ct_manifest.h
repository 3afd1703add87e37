#pragma once

#include "paceline/data/ct/ct_volume.h"
#include "paceline/data/sources/ct/ct_set.h"
#include "paceline/dataset_tools/ct/patient_split.h"

#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace paceline::dataset_tools {

/// The views of X-rays, in the order in which they are stored.
inline constexpr std::array<std::string_view, 2> kCtViewNames{"frontal", "lateral"};

/// What decides which values come out of X-rays.
struct CtXraySettings {
  std::int64_t size = 512;       ///< pixels of either side
  bool flip_vertically = false;  ///< the files show patients upside down
  friend bool operator==(const CtXraySettings&, const CtXraySettings&) = default;
};

/// What decides which values come out of a scan, and where they go.
struct CtSettings {
  double fov_mm = 400;                            ///< side of the cube
  std::vector<std::int64_t> sides{256, 128, 64};  ///< voxels; each a half, quarter ... of the first
  /// seed_mark() of splits and codes. Not the seed, by which names could be tried.
  std::string seed_mark = dataset_tools::seed_mark(0);
  std::optional<CtXraySettings> xrays = {};  ///< nothing: there are none
  friend bool operator==(const CtSettings&, const CtSettings&) = default;
};

/// Throws ConfigError for a cube without size, for sides of which one is not the one before it,
/// halved once or more often, and for X-rays without pixels.
void check_settings(const CtSettings& settings);

/// One patient's cubes. Holds nothing that says who it is.
struct CtPatient {
  std::string code;  ///< patient_code()
  PatientSplit split = PatientSplit::kTrain;
  std::int64_t index = 0;                ///< along the first axis of the split's arrays
  std::string source;                    ///< hash of the scan's file, or of it and the X-rays'
  std::array<std::int64_t, 3> sizes{};   ///< of the scan, to the right, front and head
  std::array<double, 3> spacing_mm{};    ///< likewise
  volume::Affine affine{};               ///< of voxel (x, y, z) of the largest cube
  std::vector<std::string> hashes = {};  ///< of the bytes in each of ct_array_layouts()
  friend bool operator==(const CtPatient&, const CtPatient&) = default;
};

/// ct_manifest.json. It is written last, so what it names was complete; a hash tells what is
/// damaged.
struct CtManifest {
  CtSettings settings;
  std::vector<CtPatient> patients;
  bool tells_seed = false;  ///< it was read as an earlier version wrote it, with the seed
};

/// Another name than that of packed sets, by which they are known.
using data::kCtManifestName;

std::string to_json(const CtManifest& manifest);
/// Reads FOLDER/ct_manifest.json; nothing if there is none. Throws DataError that names the file.
std::optional<CtManifest> read_ct_manifest(const std::filesystem::path& folder);

std::string to_json(const CtSettings& settings);
/// In one line.
std::string to_json(const CtPatient& patient);
/// Throws DataError for another text than to_json() gives.
CtPatient ct_patient_from_json(std::string_view text);

}  // namespace paceline::dataset_tools
