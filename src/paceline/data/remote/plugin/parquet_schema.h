#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <parquet/metadata.h>
#include <parquet/schema.h>

namespace paceline::data {

/// The part of a column that lies in one row group.
struct ColumnChunk {
  std::uint64_t dictionary = 0;  ///< where its dictionary page begins; that of the data if none
  std::uint64_t data = 0;        ///< where its first data page begins
  std::uint64_t end = 0;
  parquet::Compression::type codec = parquet::Compression::UNCOMPRESSED;
  std::int64_t num_rows = 0;
};

/// The number of the column `name`; -1 if there is none. A struct's part is "struct.part".
int find_column(const parquet::SchemaDescriptor& schema, const std::string& name);

/// The column of the images' bytes: `name` itself or its part `bytes`, or in place of one of the
/// usual name the only struct with parts `bytes` and `path`, as Hugging Face's writer makes of
/// images. Throws DataError that says what columns there are.
int find_image_column(const parquet::SchemaDescriptor& schema, const std::string& name);

/// The column of the labels: `name`, or in place of one of the usual name the only ClassLabel that
/// Hugging Face's writer tells of in `huggingface`, else the only one whose name labels often have.
/// Lists of labels are found as well.
/// Throws as find_image_column().
int find_label_column(const parquet::SchemaDescriptor& schema, const std::string& name,
                      const std::string& huggingface);

/// "img" of the column "img.bytes": what its parts are parts of, or itself.
std::string name_of_column(const parquet::SchemaDescriptor& schema, int column);

/// The chunks of a column, one per row group. Throws DataError if they do not lie in a file of
/// `file_size` bytes.
std::vector<ColumnChunk> list_chunks(const parquet::FileMetaData& metadata, int column,
                                     std::uint64_t file_size);

}  // namespace paceline::data
