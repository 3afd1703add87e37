#pragma once

#include "paceline/data/remote/parquet_file.h"
#include "paceline/data/storage/input_file.h"

#include <memory>
#include <string>

namespace paceline::data {

/// Reads the footer of `file`, to make images of its column `image`. Throws DataError that names
/// the file.
std::unique_ptr<const ParquetImages> open_parquet_pages(
    const std::shared_ptr<const InputFile>& file, const std::string& image);

}  // namespace paceline::data
