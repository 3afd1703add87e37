#include "paceline/data/remote/plugin/parquet_listing.h"

#include "paceline/base/error.h"
#include "paceline/data/remote/plugin/arrow_input.h"
#include "paceline/data/remote/plugin/parquet_schema.h"

#include <array>
#include <utility>

#include <arrow/util/key_value_metadata.h>
#include <parquet/column_reader.h>
#include <parquet/file_reader.h>
#include <parquet/page_index.h>

namespace paceline::data {
namespace {

/// What is plausible; a damaged file may say anything.
constexpr std::int64_t kMaxFileRows = std::int64_t{1} << 31;

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

void read_labels(parquet::ParquetFileReader& reader, const std::string& name,
                 ParquetListing& listing) {
  const parquet::SchemaDescriptor& schema = *reader.metadata()->schema();
  const int column = find_column(schema, name);
  if (column < 0) {
    throw base::DataError(fmt::format("has no column '{}' of labels: set data.label_column", name));
  }
  switch (schema.Column(column)->physical_type()) {
    case parquet::Type::INT32:
      listing.labels = read_integers<parquet::Int32Type>(reader, column);
      return;
    case parquet::Type::INT64:
      listing.labels = read_integers<parquet::Int64Type>(reader, column);
      return;
    case parquet::Type::BYTE_ARRAY:
      read_column<parquet::ByteArrayType>(reader, column,
                                          [&](std::int64_t row, const parquet::ByteArray* value) {
                                            if (value == nullptr) fail_without("label", row);
                                            listing.label_texts.emplace_back(text_of(*value));
                                          });
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

/// Adds the pages that the file's own index of them names.
void add_indexed_pages(const parquet::OffsetIndex& index, const ColumnChunk& chunk,
                       std::vector<ParquetPage>& pages) {
  const std::vector<parquet::PageLocation>& places = index.page_locations();
  for (std::size_t i = 0; i < places.size(); ++i) {
    const std::int64_t begin = places[i].first_row_index;
    const std::int64_t end = i + 1 < places.size() ? places[i + 1].first_row_index : chunk.num_rows;
    if (begin < 0 || end < begin || end > chunk.num_rows)
      throw base::DataError(
          fmt::format("the index of the pages from byte {} on is damaged", chunk.data));
    pages.push_back({static_cast<std::uint64_t>(places[i].offset),
                     static_cast<std::uint64_t>(std::max(places[i].compressed_page_size, 0)),
                     end - begin});
  }
}

/// Adds the pages that are found by going from header to header.
void add_walked_pages(const InputFile& file, const ColumnChunk& chunk,
                      const parquet::ColumnDescriptor& column, std::vector<ParquetPage>& pages) {
  const auto stream = std::make_shared<PageStream>(file, chunk.data, chunk.end);
  const auto reader = parquet::PageReader::Open(stream, chunk.num_rows, chunk.codec,
                                                parquet::default_reader_properties(), column);
  std::optional<ParquetPage> last;
  const auto add_last = [&](std::uint64_t end) {
    if (!last) return;
    last->size = end - last->offset;
    pages.push_back(*last);
  };
  reader->set_data_page_filter([&](const parquet::DataPageStats& page) {
    add_last(stream->page_begin());
    last = {stream->page_begin(), 0, page.num_values};
    stream->skip_content();
    return true;
  });
  while (reader->NextPage() != nullptr) {  // what comes is no data page
  }
  add_last(stream->position());
}

void check_pages(const std::vector<ParquetPage>& pages, std::size_t first,
                 const ColumnChunk& chunk) {
  std::int64_t num_rows = 0;
  std::uint64_t position = chunk.dictionary;
  for (std::size_t i = first; i < pages.size(); ++i) {
    const ParquetPage& page = pages[i];
    if (page.offset < position || page.offset > chunk.end || page.size > chunk.end - page.offset ||
        page.num_rows < 0 || page.num_rows > kMaxParquetPageRows ||
        page.num_rows > chunk.num_rows - num_rows)
      throw base::DataError(fmt::format("the page at byte {} is damaged", page.offset));
    position = page.offset + page.size;
    num_rows += page.num_rows;
  }
  if (num_rows != chunk.num_rows) {
    throw base::DataError(fmt::format("the pages from byte {} on hold {} rows, expected {}",
                                      chunk.data, num_rows, chunk.num_rows));
  }
}

std::vector<ParquetPage> list_pages(parquet::ParquetFileReader& reader, const InputFile& file,
                                    int column) {
  std::vector<ParquetPage> pages;
  const std::vector<ColumnChunk> chunks = list_chunks(*reader.metadata(), column, file.size());
  const auto index_reader = reader.GetPageIndexReader();
  for (std::size_t i = 0; i < chunks.size(); ++i) {
    const std::size_t first = pages.size();
    const auto group = index_reader ? index_reader->RowGroup(static_cast<int>(i)) : nullptr;
    if (const auto index = group ? group->GetOffsetIndex(column) : nullptr) {
      add_indexed_pages(*index, chunks[i], pages);
    } else {
      add_walked_pages(file, chunks[i], *reader.metadata()->schema()->Column(column), pages);
    }
    check_pages(pages, first, chunks[i]);
    if (i > 0 && chunks[i].dictionary < chunks[i - 1].end)
      throw base::DataError(fmt::format("row group {} lies before the one before it", i));
  }
  return pages;
}

}  // namespace

ParquetListing list_parquet(std::shared_ptr<const InputFile> file, const ParquetColumns& columns) {
  return with_arrow(file->path(), [&] {
    const auto reader = parquet::ParquetFileReader::Open(std::make_shared<ArrowInput>(file));
    const parquet::FileMetaData& metadata = *reader->metadata();
    ParquetListing listing;
    listing.num_rows = metadata.num_rows();
    if (listing.num_rows < 0 || listing.num_rows > kMaxFileRows)
      throw base::DataError("the number of rows is damaged");
    const int image = find_image_column(*metadata.schema(), columns.image);
    listing.pages = list_pages(*reader, *file, image);
    read_labels(*reader, columns.label, listing);
    listing.names = read_names(*reader, columns.image);
    if (metadata.key_value_metadata() != nullptr)
      listing.huggingface = metadata.key_value_metadata()->Get("huggingface").ValueOr("");
    return listing;
  });
}

}  // namespace paceline::data
