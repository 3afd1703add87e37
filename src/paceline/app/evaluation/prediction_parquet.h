#pragma once

#include "paceline/base/file.h"
#include "paceline/data/dataset/dataset.h"
#include "paceline/train/tasks/sample_records.h"

#include <cstdint>
#include <span>
#include <string>

namespace paceline::app {

/// So many values lie in a row group, of all columns together; but a row at least.
inline constexpr std::int64_t kValuesPerRowGroup = std::int64_t{1} << 22;

/// The content of write_prediction_table() as Parquet: index, label and told int64, loss and
/// probability float64, the others texts. A sample without label has no class; what is no UTF-8 in
/// a text is U+FFFD. Throws FileError, and ConfigError without the plug-in for Parquet.
void write_predictions_as_parquet(base::OutputFile& file, const train::SampleRecords& records,
                                  const data::Dataset& dataset,
                                  std::span<const std::string> class_names,
                                  std::int64_t values_per_row_group = kValuesPerRowGroup);

}  // namespace paceline::app
