#pragma once

#include "paceline/data/remote/parquet_file.h"
#include "paceline/data/storage/input_file.h"

#include <memory>

namespace paceline::data {

/// Reads the footer of a Parquet file, its labels and names, and where its pages of images lie, by
/// the file's own index of them or else by their headers. Reads no images. Throws DataError that
/// names the file.
ParquetListing list_parquet(std::shared_ptr<const InputFile> file, const ParquetColumns& columns);

}  // namespace paceline::data
