#pragma once

#include "paceline/dataset_tools/ct/patient_split.h"

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace paceline::dataset_tools {

/// A scan that was found. `name` stands for it in messages; who it is tells only `file`.
struct ListedPatient {
  std::string code;
  PatientSplit split = PatientSplit::kTrain;
  std::filesystem::path file;  ///< of NIfTI; empty for DICOM
  std::string name;
  std::filesystem::path folder = {};               ///< of this patient alone; empty: it has none
  std::vector<std::filesystem::path> xrays = {};   ///< find_xrays()
  std::vector<std::filesystem::path> slices = {};  ///< DICOM files, by path
};

struct CtListing {
  std::vector<ListedPatient> patients;  ///< by code
  std::int64_t left_out = 0;            ///< entries of the folder without a scan
};

/// The patients of a folder: ID.nii or ID.nii.gz in it, or in folders ID: the file ID.nii.gz or
/// ID.nii, else the only NIfTI file there, else all DICOM files there and in folders below, by
/// their beginning or by .dcm. What begins with a dot is passed over, and labels of organs, whose
/// names end in _organs. Throws DataError for a patient with two scans, ConfigError if there are
/// none.
CtListing list_ct_patients(const std::filesystem::path& folder, std::uint64_t seed);

/// A folder's entries that do not begin with a dot, sorted. Throws DataError, which `what` begins,
/// as a path may say who a patient is.
std::vector<std::filesystem::path> visible_entries(const std::filesystem::path& folder,
                                                   const std::string& what);

}  // namespace paceline::dataset_tools
