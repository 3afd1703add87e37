#pragma once

#include "paceline/base/file.h"
#include "paceline/data/dataset/dataset.h"
#include "paceline/train/tasks/sample_records.h"

#include <filesystem>
#include <span>
#include <string>

namespace paceline::app {

/// Whether a table of this name is written as Parquet.
bool is_parquet_table(const std::filesystem::path& path);

/// Writes what was told of each sample as a CSV file, or as Parquet by its name: its number and
/// place in the data set, label and loss, and the most probable classes with their probabilities,
/// the first as told, told_class and probability, the second as told_2 and so on. The file appears,
/// or takes another's place, when all of it is there. Throws FileError, and ConfigError without the
/// plug-in for Parquet.
void write_prediction_table(base::FileSystem& files, const std::filesystem::path& path,
                            const train::SampleRecords& records, const data::Dataset& dataset,
                            std::span<const std::string> class_names);

}  // namespace paceline::app
