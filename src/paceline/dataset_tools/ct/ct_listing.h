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
  std::filesystem::path file;
  std::string name;
};

struct CtListing {
  std::vector<ListedPatient> patients;  ///< by code
  std::int64_t left_out = 0;            ///< entries of the folder without a NIfTI file
};

/// The patients of a folder: ID.nii or ID.nii.gz in it, or in folders ID: the file ID.nii.gz or
/// ID.nii, else the only NIfTI file there. What begins with a dot is passed over. Throws DataError
/// for a patient with two scans, ConfigError if there are none.
CtListing list_ct_patients(const std::filesystem::path& folder, std::uint64_t seed);

}  // namespace paceline::dataset_tools
