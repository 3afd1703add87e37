#pragma once

#include "paceline/data/index/range_index.h"
#include "paceline/data/parquet/parquet_dataset.h"

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace paceline::data {

/// What the index has as the name of a sample.
struct NameAndLabels {
  std::string_view name;
  std::optional<std::vector<std::int64_t>> labels;  ///< if samples have lists of them
};

NameAndLabels name_and_labels(std::string_view text);

/// The samples of a split: the range of each is its page, with its header, and rows of a page
/// follow each other. Where labels are lists they stand behind the name (name_and_labels()), and
/// the label is the first of them, or 0. Kept beside the data (see index_files()) and made anew
/// when that has changed.
RangeIndex open_parquet_index(const ParquetSource& source,
                              const std::shared_ptr<const Storage>& storage);

}  // namespace paceline::data
