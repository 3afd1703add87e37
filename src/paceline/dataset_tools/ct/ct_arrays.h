#pragma once

#include "paceline/base/file.h"
#include "paceline/data/formats/npy_file.h"
#include "paceline/dataset_tools/ct/ct_layout.h"
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

/// Where one of ct_array_layouts() of a split lies, as the data set `arrays` reads it: [patients,
/// ...].
std::filesystem::path ct_array_path(const std::filesystem::path& folder, PatientSplit split,
                                    const std::string& name);

/// What an earlier call has left, mapped into memory.
class CtArrays {
 public:
  /// Files that are missing or damaged count as empty.
  CtArrays(const std::filesystem::path& folder, const CtSettings& settings);

  /// Whether all that was made of a patient is there and has its hashes. Reads it.
  bool holds(const CtPatient& patient) const;
  /// Whether they have as many patients as a manifest says, and no others.
  bool are_those_of(const CtManifest& manifest) const;
  /// What one of ct_array_layouts() has of a patient that it holds. Valid while this lives.
  std::string_view values(const CtPatient& patient, std::size_t array) const;

 private:
  std::optional<std::string_view> find(const CtPatient& patient, std::size_t array) const;

  std::vector<CtArrayLayout> layouts_;
  std::map<std::pair<PatientSplit, std::size_t>, data::NpyArray> arrays_;
};

/// Writes the arrays of all splits anew and then the manifest; a split without patients gets none,
/// and of `old`, earlier layouts, go those that are no longer among them. `values` gives the bytes
/// of a patient in an array. Throws FileError; then what was there before is there still, or some
/// arrays are new ones that the manifest's hashes do not fit.
void write_ct_arrays(
    base::FileSystem& files, const std::filesystem::path& folder, const CtManifest& manifest,
    const std::vector<CtArrayLayout>& old,
    const std::function<std::string_view(const CtPatient& patient, std::size_t array)>& values);

}  // namespace paceline::dataset_tools
