#include "paceline/data/remote/plugin/parquet_schema.h"

#include "paceline/base/error.h"
#include "paceline/base/json.h"
#include "paceline/data/remote/parquet_file.h"

#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

namespace paceline::data {
namespace {

std::vector<std::string> names_of(const parquet::SchemaDescriptor& schema) {
  std::vector<std::string> names;
  names.reserve(static_cast<std::size_t>(schema.num_columns()));
  for (int i = 0; i < schema.num_columns(); ++i)
    names.push_back(schema.Column(i)->path()->ToDotString());
  return names;
}

/// What labels are called where they are not called so.
const std::vector<std::string> kOtherLabels{"labels", "fine_label", "class", "target", "cls"};

/// The column of single values or of lists, as of "labels.list.element"; -1 if there is none.
int find_values_or_lists(const parquet::SchemaDescriptor& schema, const std::string& name) {
  int found = schema.ColumnIndex(name);
  for (int i = 0; found < 0 && i < schema.num_columns(); ++i) {
    const bool is_list = schema.Column(i)->max_repetition_level() == 1;
    if (is_list && name_of_column(schema, i) == name) found = i;
  }
  return found;
}

/// Those that are there.
std::vector<int> columns_named(const parquet::SchemaDescriptor& schema,
                               const std::vector<std::string>& names) {
  std::vector<int> columns;
  for (const std::string& name : names) {
    const int column = find_values_or_lists(schema, name);
    if (column >= 0) columns.push_back(column);
  }
  return columns;
}

/// The parts `bytes` of all structs that have a `path` too.
std::vector<int> images_of_huggingface(const parquet::SchemaDescriptor& schema) {
  std::vector<std::string> candidates;
  for (int i = 0; i < schema.num_columns(); ++i) {
    const std::vector<std::string> path = schema.Column(i)->path()->ToDotVector();
    if (path.size() == 2 && path.back() == "bytes" &&
        schema.ColumnIndex(path.front() + ".path") >= 0)
      candidates.push_back(path.front() + ".bytes");
  }
  return columns_named(schema, candidates);
}

/// Or a list of them.
bool is_class_label(const nlohmann::json& feature) {
  if (feature.is_array()) return feature.size() == 1 && is_class_label(feature.front());
  if (!feature.is_object()) return false;
  return feature.value("_type", nlohmann::json()) == "ClassLabel" ||
         (feature.contains("feature") && is_class_label(feature.at("feature")));
}

/// The features of Hugging Face's type ClassLabel; none if it is another writer's file.
std::vector<std::string> class_labels_in(const std::string& huggingface) {
  std::vector<std::string> names;
  try {
    const nlohmann::json parsed = base::parse_json(huggingface);
    const nlohmann::json::json_pointer place("/info/features");
    if (!parsed.contains(place)) return names;
    for (const auto& [name, feature] : parsed.at(place).items()) {
      if (is_class_label(feature)) names.push_back(name);
    }
  } catch (const base::JsonError&) {
    return {};
  }
  return names;
}

int only_one(const std::vector<int>& columns) { return columns.size() == 1 ? columns.front() : -1; }

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

std::string name_of_column(const parquet::SchemaDescriptor& schema, int column) {
  return schema.Column(column)->path()->ToDotVector().front();
}

int find_image_column(const parquet::SchemaDescriptor& schema, const std::string& name) {
  int column = find_column(schema, name + ".bytes");
  if (column < 0) column = find_column(schema, name);
  if (column < 0 && name == ParquetColumns::kUsualImage)
    column = only_one(images_of_huggingface(schema));
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

int find_label_column(const parquet::SchemaDescriptor& schema, const std::string& name,
                      const std::string& huggingface) {
  int column = find_values_or_lists(schema, name);
  if (column < 0 && name == ParquetColumns::kUsualLabel) {
    column = only_one(columns_named(schema, class_labels_in(huggingface)));
    if (column < 0) column = only_one(columns_named(schema, kOtherLabels));
  }
  if (column >= 0) return column;
  throw base::DataError(
      fmt::format("has no column '{}' of labels; it has {}: set data.label_column", name,
                  fmt::join(names_of(schema), ", ")));
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
