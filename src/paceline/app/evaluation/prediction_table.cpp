#include "paceline/app/evaluation/prediction_table.h"

#include "paceline/app/evaluation/csv_cell.h"
#include "paceline/app/evaluation/eval_details.h"
#include "paceline/app/evaluation/prediction_columns.h"
#include "paceline/app/evaluation/prediction_parquet.h"
#include "paceline/app/evaluation/top_classes.h"
#include "paceline/base/text.h"

#include <memory>

#include <fmt/format.h>

namespace paceline::app {
namespace {

std::string class_cell(std::span<const std::string> class_names, std::int64_t label) {
  return label < 0 ? "" : csv_cell(name_of_class(class_names, label));
}

std::string line_of(const train::SampleRecords& records, std::int64_t row,
                    const data::Dataset& dataset, std::span<const std::string> class_names) {
  const SampleFacts sample = sample_at(records, row);
  std::string line =
      fmt::format("{},{},{},{},{:.9g}", sample.index, csv_cell(dataset.describe(sample.index)),
                  sample.label, class_cell(class_names, sample.label), sample.loss);
  const std::int64_t num_told = records.classes.size(1);
  const auto* const classes = records.classes.const_data_ptr<std::int64_t>() + row * num_told;
  const auto* const values = records.probabilities.const_data_ptr<double>() + row * num_told;
  for (std::int64_t k = 0; k < num_told; ++k)
    line +=
        fmt::format(",{},{},{:.9g}", classes[k], class_cell(class_names, classes[k]), values[k]);
  return line + '\n';
}

void write_csv(base::OutputFile& file, const train::SampleRecords& records,
               const data::Dataset& dataset, std::span<const std::string> class_names) {
  constexpr std::size_t kAtOnce = std::size_t{1} << 20;
  std::string text = base::join(prediction_columns(records.classes.size(1)), ",") + '\n';
  for (std::int64_t row = 0; row < records.indices.numel(); ++row) {
    text += line_of(records, row, dataset, class_names);
    if (text.size() < kAtOnce) continue;
    file.write(text);
    text.clear();
  }
  file.write(text);
}

}  // namespace

bool is_parquet_table(const std::filesystem::path& path) {
  return base::to_lower(path.extension().string()) == ".parquet";
}

void write_prediction_table(base::FileSystem& files, const std::filesystem::path& path,
                            const train::SampleRecords& records, const data::Dataset& dataset,
                            std::span<const std::string> class_names) {
  const std::filesystem::path unfinished = base::unfinished_path(path);
  try {
    const std::unique_ptr<base::OutputFile> file = files.create(unfinished);
    if (is_parquet_table(path)) {
      write_predictions_as_parquet(*file, records, dataset, class_names);
    } else {
      write_csv(*file, records, dataset, class_names);
    }
    file->sync();
    file->close();
    files.rename(unfinished, path);
  } catch (...) {
    files.remove_all(unfinished);
    throw;
  }
}

}  // namespace paceline::app
