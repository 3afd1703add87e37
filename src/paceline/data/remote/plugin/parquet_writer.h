#pragma once

#include "paceline/base/file.h"
#include "paceline/data/remote/parquet_table.h"

#include <memory>
#include <vector>

namespace paceline::data {

/// Writes a table of these columns to `file`, which must outlive the writer and is neither synced
/// nor closed.
std::unique_ptr<ParquetWriter> make_parquet_writer(base::OutputFile& file,
                                                   std::vector<ParquetField> fields);

}  // namespace paceline::data
