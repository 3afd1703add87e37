#include "paceline/data/remote/plugin/parquet_listing.h"

#include "paceline/base/error.h"
#include "paceline/data/remote/plugin/arrow_input.h"
#include "paceline/data/remote/plugin/parquet_labels.h"
#include "paceline/data/remote/plugin/parquet_schema.h"

#include <algorithm>
#include <optional>
#include <utility>

#include <arrow/util/key_value_metadata.h>
#include <parquet/column_reader.h>
#include <parquet/file_reader.h>
#include <parquet/page_index.h>

namespace paceline::data {
namespace {

/// What is plausible; a damaged file may say anything.
constexpr std::int64_t kMaxFileRows = std::int64_t{1} << 31;

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
    if (metadata.key_value_metadata() != nullptr)
      listing.huggingface = metadata.key_value_metadata()->Get("huggingface").ValueOr("");
    read_labels(*reader, columns.label, listing);
    listing.names = read_names(*reader, name_of_column(*metadata.schema(), image));
    return listing;
  });
}

}  // namespace paceline::data
