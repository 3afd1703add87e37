#include "paceline/data/remote/plugin/parquet_labels.h"

#include "paceline/base/error.h"
#include "paceline/data/remote/plugin/parquet_schema.h"

#include <algorithm>
#include <array>
#include <string_view>

#include <parquet/column_reader.h>

namespace paceline::data {
namespace {

/// Hands each value of a column to `take(row, value)`, and nullptr for nulls.
template <class Type, class Take>
void read_column(parquet::ParquetFileReader& reader, int column, Take take) {
  constexpr std::int64_t kBatch = 1024;
  std::array<std::int16_t, kBatch> levels{};
  std::array<typename Type::c_type, kBatch> values{};
  const std::int16_t max_level =
      reader.metadata()->schema()->Column(column)->max_definition_level();
  std::int64_t row = 0;
  for (int group = 0; group < reader.metadata()->num_row_groups(); ++group) {
    const auto rows = reader.RowGroup(group);
    const auto source = rows->Column(column);
    auto& typed = dynamic_cast<parquet::TypedColumnReader<Type>&>(*source);
    const std::int64_t end = row + rows->metadata()->num_rows();
    while (row < end) {
      std::int64_t num_values = 0;
      const std::int64_t count = typed.ReadBatch(std::min(kBatch, end - row), levels.data(),
                                                 nullptr, values.data(), &num_values);
      if (count <= 0) throw base::DataError(fmt::format("ends at row {} of {}", row, end));
      std::int64_t next = 0;
      for (std::int64_t i = 0; i < count; ++i, ++row) {
        const bool is_null = max_level > 0 && levels[static_cast<std::size_t>(i)] < max_level;
        take(row,
             is_null || next >= num_values ? nullptr : &values[static_cast<std::size_t>(next++)]);
      }
    }
  }
}

[[noreturn]] void fail_without(const std::string& what, std::int64_t row) {
  throw base::DataError(fmt::format("row {} has no {}", row, what));
}

template <class Type>
std::vector<std::int64_t> read_integers(parquet::ParquetFileReader& reader, int column) {
  std::vector<std::int64_t> labels;
  read_column<Type>(reader, column, [&](std::int64_t row, const typename Type::c_type* value) {
    if (value == nullptr) fail_without("label", row);
    labels.push_back(*value);
  });
  return labels;
}

std::string_view text_of(const parquet::ByteArray& bytes) {
  return {reinterpret_cast<const char*>(bytes.ptr), bytes.len};
}

/// Hands each value of a column of lists to `take(row, value)`. Throws DataError for a null in a
/// list; a list that is null or empty has no values.
template <class Type, class Take>
std::int64_t read_lists(parquet::ParquetFileReader& reader, int column, Take take) {
  constexpr std::int64_t kBatch = 1024;
  std::array<std::int16_t, kBatch> levels{};
  std::array<std::int16_t, kBatch> repeats{};
  std::array<typename Type::c_type, kBatch> values{};
  const parquet::ColumnDescriptor& descriptor = *reader.metadata()->schema()->Column(column);
  const std::int16_t of_value = descriptor.max_definition_level();
  const std::int16_t of_null = descriptor.schema_node()->is_optional()
                                   ? static_cast<std::int16_t>(of_value - 1)
                                   : std::int16_t{-1};
  std::int64_t row = -1;
  for (int group = 0; group < reader.metadata()->num_row_groups(); ++group) {
    const auto source = reader.RowGroup(group)->Column(column);
    auto& typed = dynamic_cast<parquet::TypedColumnReader<Type>&>(*source);
    while (typed.HasNext()) {
      std::int64_t num_values = 0;
      const std::int64_t count =
          typed.ReadBatch(kBatch, levels.data(), repeats.data(), values.data(), &num_values);
      if (count <= 0) throw base::DataError(fmt::format("ends behind row {}", row));
      std::size_t next = 0;
      for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) {
        if (repeats[i] == 0) ++row;
        if (row < 0) throw base::DataError("the column of labels begins within a list");
        if (levels[i] == of_null) fail_without("value in its list of labels", row);
        if (levels[i] == of_value) take(row, values[next++]);
      }
    }
  }
  return row + 1;
}

template <class Type>
std::vector<std::int64_t> integers_of_lists(parquet::ParquetFileReader& reader, int column,
                                            ParquetListing& listing) {
  std::vector<std::int64_t> labels;
  const std::int64_t rows =
      read_lists<Type>(reader, column, [&](std::int64_t row, const typename Type::c_type& value) {
        listing.end_lists_before(row, labels.size());
        labels.push_back(value);
      });
  listing.end_lists_before(rows, labels.size());
  return labels;
}

std::vector<std::string> texts_of_lists(parquet::ParquetFileReader& reader, int column,
                                        ParquetListing& listing) {
  std::vector<std::string> texts;
  const std::int64_t rows = read_lists<parquet::ByteArrayType>(
      reader, column, [&](std::int64_t row, const parquet::ByteArray& value) {
        listing.end_lists_before(row, texts.size());
        texts.emplace_back(text_of(value));
      });
  listing.end_lists_before(rows, texts.size());
  return texts;
}

std::vector<std::string> read_texts(parquet::ParquetFileReader& reader, int column) {
  std::vector<std::string> texts;
  read_column<parquet::ByteArrayType>(reader, column,
                                      [&](std::int64_t row, const parquet::ByteArray* value) {
                                        if (value == nullptr) fail_without("label", row);
                                        texts.emplace_back(text_of(*value));
                                      });
  return texts;
}

}  // namespace

void read_labels(parquet::ParquetFileReader& reader, const std::string& name,
                 ParquetListing& listing) {
  const parquet::SchemaDescriptor& schema = *reader.metadata()->schema();
  const int column = find_label_column(schema, name, listing.huggingface);
  listing.label_column = name_of_column(schema, column);
  listing.has_lists = schema.Column(column)->max_repetition_level() > 0;
  switch (schema.Column(column)->physical_type()) {
    case parquet::Type::INT32:
      listing.labels = listing.has_lists
                           ? integers_of_lists<parquet::Int32Type>(reader, column, listing)
                           : read_integers<parquet::Int32Type>(reader, column);
      return;
    case parquet::Type::INT64:
      listing.labels = listing.has_lists
                           ? integers_of_lists<parquet::Int64Type>(reader, column, listing)
                           : read_integers<parquet::Int64Type>(reader, column);
      return;
    case parquet::Type::BYTE_ARRAY:
      listing.label_texts =
          listing.has_lists ? texts_of_lists(reader, column, listing) : read_texts(reader, column);
      return;
    default:
      throw base::DataError(
          fmt::format("column '{}' holds neither integers nor texts, as labels would be", name));
  }
}

std::vector<std::string> read_names(parquet::ParquetFileReader& reader, const std::string& image) {
  std::vector<std::string> names;
  const parquet::SchemaDescriptor& schema = *reader.metadata()->schema();
  const int column = find_column(schema, image + ".path");
  if (column < 0 || schema.Column(column)->physical_type() != parquet::Type::BYTE_ARRAY)
    return names;
  read_column<parquet::ByteArrayType>(reader, column,
                                      [&](std::int64_t, const parquet::ByteArray* value) {
                                        names.emplace_back(value == nullptr ? "" : text_of(*value));
                                      });
  return names;
}

}  // namespace paceline::data
