#pragma once

#include "paceline/base/file.h"
#include "paceline/data/dataset/dataset.h"
#include "paceline/train/tasks/volume/patient_records.h"

#include <filesystem>

namespace paceline::app {

/// Throws ConfigError for the name of a Parquet file, as which no table of patients is written.
void require_patient_table(const std::filesystem::path& path);

/// Writes how good the volumes of each patient are as a CSV file: its number and name in the data
/// set, and the qualities. The file appears, or takes another's place, when all of it is there.
/// Throws FileError, and as require_patient_table().
void write_patient_table(base::FileSystem& files, const std::filesystem::path& path,
                         const train::PatientRecords& records, const data::Dataset& dataset);

}  // namespace paceline::app
