#include "paceline/data/remote/plugin/parquet_schema.h"

#include "paceline/base/error.h"

#include <fmt/ranges.h>

namespace paceline::data {
namespace {

std::vector<std::string> names_of(const parquet::SchemaDescriptor& schema) {
  std::vector<std::string> names;
  names.reserve(static_cast<std::size_t>(schema.num_columns()));
  for (int i = 0; i < schema.num_columns(); ++i)
    names.push_back(schema.Column(i)->path()->ToDotString());
  return names;
}

}  // namespace

int find_column(const parquet::SchemaDescriptor& schema, const std::string& name) {
  const std::vector<std::string> names = names_of(schema);
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names[i] != name) continue;
    if (schema.Column(static_cast<int>(i))->max_repetition_level() == 0) return static_cast<int>(i);
    throw base::DataError(fmt::format("column '{}' holds lists, expected one value a row", name));
  }
  return -1;
}

int find_image_column(const parquet::SchemaDescriptor& schema, const std::string& name) {
  int column = find_column(schema, name + ".bytes");
  if (column < 0) column = find_column(schema, name);
  if (column < 0) {
    throw base::DataError(
        fmt::format("has no column '{}' of images; it has {}: set "
                    "data.image_column",
                    name, fmt::join(names_of(schema), ", ")));
  }
  if (schema.Column(column)->physical_type() != parquet::Type::BYTE_ARRAY) {
    throw base::DataError(
        fmt::format("column '{}' is not of bytes, as images would be: set data.image_column",
                    schema.Column(column)->path()->ToDotString()));
  }
  return column;
}

std::vector<ColumnChunk> list_chunks(const parquet::FileMetaData& metadata, int column,
                                     std::uint64_t file_size) {
  std::vector<ColumnChunk> chunks;
  for (int group = 0; group < metadata.num_row_groups(); ++group) {
    const auto rows = metadata.RowGroup(group);
    const auto found = rows->ColumnChunk(column);
    if (found->num_values() != rows->num_rows())
      throw base::DataError(
          fmt::format("row group {} has another number of images than of rows", group));
    const std::int64_t data = found->data_page_offset();
    const std::int64_t dictionary =
        found->has_dictionary_page() && found->dictionary_page_offset() > 0
            ? std::min(found->dictionary_page_offset(), data)
            : data;
    const std::int64_t length = found->total_compressed_size();
    const auto limit = static_cast<std::int64_t>(file_size);
    if (dictionary < 0 || length < 0 || dictionary > limit || length > limit - dictionary ||
        data > dictionary + length)
      throw base::DataError(fmt::format("row group {} lies outside of the file", group));
    chunks.push_back({static_cast<std::uint64_t>(dictionary), static_cast<std::uint64_t>(data),
                      static_cast<std::uint64_t>(dictionary + length), found->compression(),
                      rows->num_rows()});
  }
  return chunks;
}

}  // namespace paceline::data
