#include "paceline/app/evaluation/patient_table.h"

#include "paceline/app/evaluation/csv_cell.h"
#include "paceline/app/evaluation/prediction_table.h"
#include "paceline/base/error.h"

#include <fmt/ranges.h>

namespace paceline::app {

void require_patient_table(const std::filesystem::path& path) {
  if (is_parquet_table(path))
    throw base::ConfigError(
        fmt::format("--predictions {}: a table of patients is written as CSV: name a .csv file",
                    path.string()));
}

void write_patient_table(base::FileSystem& files, const std::filesystem::path& path,
                         const train::PatientRecords& records, const data::Dataset& dataset) {
  require_patient_table(path);
  std::string text = fmt::format("index,patient,{}\n", fmt::join(records.names, ","));
  const auto* const indices = records.indices.const_data_ptr<std::int64_t>();
  const auto* value = records.values.const_data_ptr<double>();
  for (std::int64_t row = 0; row < records.indices.numel(); ++row) {
    text += fmt::format("{},{}", indices[row], csv_cell(dataset.name(indices[row])));
    for (std::size_t i = 0; i < records.names.size(); ++i) text += fmt::format(",{:.9g}", *value++);
    text += '\n';
  }
  base::write_file_atomically(files, path, text);
}

}  // namespace paceline::app
