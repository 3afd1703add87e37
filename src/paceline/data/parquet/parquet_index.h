#pragma once

#include "paceline/data/index/range_index.h"
#include "paceline/data/parquet/parquet_dataset.h"

#include <memory>

namespace paceline::data {

/// The samples of a split: the range of each is its page, with its header, and rows of a page
/// follow each other. Where labels are lists they stand behind the name (name_with_labels()), and
/// the label is the first of them, or 0. Kept beside the data (see index_files()) and made anew
/// when that has changed.
RangeIndex open_parquet_index(const ParquetSource& source,
                              const std::shared_ptr<const Storage>& storage);

}  // namespace paceline::data
