#pragma once

#include "paceline/data/remote/parquet_file.h"

#include <string>
#include <vector>

#include <parquet/file_reader.h>

namespace paceline::data {

/// Reads the column of labels that `name` stands for: one of each row, or lists of them. Throws
/// DataError.
void read_labels(parquet::ParquetFileReader& reader, const std::string& name,
                 ParquetListing& listing);

/// The images' paths, "" where there is none; nothing if there is no such column.
std::vector<std::string> read_names(parquet::ParquetFileReader& reader, const std::string& image);

}  // namespace paceline::data
