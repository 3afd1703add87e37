#include "paceline/app/evaluation/prediction_parquet.h"

#include "paceline/app/evaluation/prediction_columns.h"
#include "paceline/app/evaluation/top_classes.h"
#include "paceline/base/text.h"
#include "paceline/data/remote/remote_plugin.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <vector>

namespace paceline::app {
namespace {

using data::ParquetField;
using data::ParquetType;
using data::ParquetValues;

std::string valid_utf8(std::string_view text) {
  std::string valid;
  while (const auto wrong = base::find_invalid_utf8(text)) {
    valid += text.substr(0, *wrong);
    valid += "\xEF\xBF\xBD";
    text.remove_prefix(*wrong + 1);
  }
  return valid += text;
}

std::vector<ParquetField> fields_of(std::int64_t num_told) {
  using enum ParquetType;
  constexpr std::array kBefore{kInt64, kText, kInt64, kText, kDouble};
  constexpr std::array kOfTold{kInt64, kText, kDouble};
  std::vector<ParquetField> fields;
  for (std::string& name : prediction_columns(num_told)) {
    const std::size_t column = fields.size();
    fields.push_back({std::move(name), column < kBefore.size()
                                           ? kBefore[column]
                                           : kOfTold[(column - kBefore.size()) % kOfTold.size()]});
  }
  return fields;
}

/// The values of rows [begin, end).
class RowRange {
 public:
  RowRange(const train::SampleRecords& records, const data::Dataset& dataset,
           std::span<const std::string> class_names, std::int64_t begin, std::int64_t end)
      : records_(records), dataset_(dataset), class_names_(class_names), begin_(begin), end_(end) {}

  ParquetValues column(std::size_t number) const {
    constexpr std::size_t kBefore = 5;
    constexpr std::size_t kOfTold = 3;
    if (number >= kBefore) {
      const auto place = static_cast<std::int64_t>((number - kBefore) / kOfTold);
      return told((number - kBefore) % kOfTold, place);
    }
    switch (number) {
      case 0:
        return values<std::int64_t>(records_.indices);
      case 1:
        return places();
      case 2:
        return values<std::int64_t>(records_.labels);
      case 3:
        return classes(records_.labels);
      default:
        return values<double>(records_.losses);
    }
  }

 private:
  using Texts = std::vector<std::optional<std::string>>;

  ParquetValues told(std::size_t part, std::int64_t place) const {
    if (part == 2) return values<double>(records_.probabilities.select(1, place));
    const at::Tensor told = records_.classes.select(1, place);
    if (part == 0) return values<std::int64_t>(told);
    return classes(told);
  }

  template <class Value>
  std::vector<Value> values(const at::Tensor& of_all) const {
    const at::Tensor range = of_all.slice(0, begin_, end_).contiguous();
    const auto* const first = range.const_data_ptr<Value>();
    return {first, first + range.numel()};
  }

  Texts places() const {
    Texts texts;
    for (const std::int64_t index : values<std::int64_t>(records_.indices))
      texts.emplace_back(valid_utf8(dataset_.describe(index)));
    return texts;
  }

  Texts classes(const at::Tensor& labels) const {
    Texts texts;
    for (const std::int64_t label : values<std::int64_t>(labels)) {
      std::optional<std::string>& text = texts.emplace_back();
      if (label >= 0) text = valid_utf8(name_of_class(class_names_, label));
    }
    return texts;
  }

  const train::SampleRecords& records_;
  const data::Dataset& dataset_;
  std::span<const std::string> class_names_;
  std::int64_t begin_;
  std::int64_t end_;
};

}  // namespace

void write_predictions_as_parquet(base::OutputFile& file, const train::SampleRecords& records,
                                  const data::Dataset& dataset,
                                  std::span<const std::string> class_names,
                                  std::int64_t values_per_row_group) {
  std::vector<ParquetField> fields = fields_of(records.classes.size(1));
  const std::int64_t num_rows = records.indices.numel();
  const std::int64_t at_once = std::max<std::int64_t>(1, values_per_row_group / std::ssize(fields));
  const auto writer = data::load_remote_plugin().write_parquet(file, std::move(fields));
  for (std::int64_t begin = 0; begin < num_rows; begin += at_once) {
    const std::int64_t end = std::min(num_rows, begin + at_once);
    const RowRange rows(records, dataset, class_names, begin, end);
    writer->write_rows(end - begin, [&](std::size_t column) { return rows.column(column); });
  }
  writer->finish();
}

}  // namespace paceline::app
