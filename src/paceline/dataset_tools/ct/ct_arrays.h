#pragma once

#include "paceline/base/file.h"
#include "paceline/data/formats/npy_file.h"
#include "paceline/dataset_tools/ct/ct_manifest.h"

#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace paceline::dataset_tools {

/// What is under way, in the folder of a set; gone when all is done.
inline constexpr const char* kCtWorkFolder = "work";

/// Where the cubes of one side of a split lie, as the data set `arrays` reads them: int16 HU,
/// [patients, side, side, side].
std::filesystem::path ct_array_path(const std::filesystem::path& folder, PatientSplit split,
                                    std::int64_t side);

/// What an earlier call has left, mapped into memory.
class CtArrays {
 public:
  /// Files that are missing or damaged count as empty.
  CtArrays(const std::filesystem::path& folder, const CtSettings& settings);

  /// Whether all cubes of a patient are there and have its hashes. Reads them.
  bool holds(const CtPatient& patient) const;
  /// Whether they have as many patients as a manifest says, and no others.
  bool are_those_of(const CtManifest& manifest) const;
  /// One cube of a patient that it holds. Valid while this lives.
  std::string_view cube(const CtPatient& patient, std::size_t side) const;

 private:
  std::optional<std::string_view> find(const CtPatient& patient, std::size_t side) const;

  CtSettings settings_;
  std::map<std::pair<PatientSplit, std::size_t>, data::NpyArray> arrays_;
};

/// Writes the arrays of all splits anew and then the manifest; a split without patients gets none.
/// `cube` gives the bytes of a patient's cube. Throws FileError; then what was there before is
/// there still, or some arrays are new ones that the manifest's hashes do not fit.
void write_ct_arrays(
    base::FileSystem& files, const std::filesystem::path& folder, const CtManifest& manifest,
    const std::function<std::string_view(const CtPatient& patient, std::size_t side)>& cube);

}  // namespace paceline::dataset_tools
