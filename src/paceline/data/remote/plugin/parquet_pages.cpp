#include "paceline/data/remote/plugin/parquet_pages.h"

#include "paceline/base/error.h"
#include "paceline/data/formats/snappy_fragments.h"
#include "paceline/data/remote/plugin/arrow_input.h"
#include "paceline/data/remote/plugin/parquet_schema.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

#include <arrow/util/compression.h>
#include <parquet/column_page.h>
#include <parquet/column_reader.h>
#include <parquet/encoding.h>
#include <parquet/file_reader.h>

namespace paceline::data {
namespace {

using Bytes = std::span<const std::uint8_t>;

/// A page as it was read, decompressed.
struct RawPage {
  std::shared_ptr<parquet::Page> page;
  std::uint64_t content = 0;                  ///< where the (compressed) content begins in the file
  std::shared_ptr<arrow::Buffer> compressed;  ///< header and content as they lie in the file
  std::uint64_t header_size = 0;
};

RawPage read_page(const InputFile& file, std::uint64_t begin, std::uint64_t end,
                  parquet::Compression::type codec, const parquet::ColumnDescriptor& column) {
  const auto stream = std::make_shared<PageStream>(file, begin, end);
  RawPage raw;
  raw.compressed = stream->load();
  parquet::ReaderProperties properties = parquet::default_reader_properties();
  properties.set_page_checksum_verification(true);  // of pages that have one
  const auto reader = parquet::PageReader::Open(stream, std::numeric_limits<std::int64_t>::max(),
                                                codec, properties, column);
  raw.page = reader->NextPage();
  if (raw.page == nullptr) throw base::DataError(fmt::format("no page is at byte {}", begin));
  raw.content = stream->content_begin();
  raw.header_size = raw.content - begin;
  return raw;
}

Bytes bytes_of_page(const parquet::Page& page) {
  return {page.data(), static_cast<std::size_t>(page.size())};
}

/// Values that lie on end, each behind its size in four bytes. `count` of them.
std::vector<Bytes> parse_plain(Bytes bytes, std::size_t count) {
  std::vector<Bytes> values;
  values.reserve(std::min(count, bytes.size() / sizeof(std::uint32_t)));
  for (std::size_t i = 0; i < count; ++i) {
    std::uint32_t size = 0;
    if (bytes.size() < sizeof size) throw base::DataError("a page ends within its values");
    std::memcpy(&size, bytes.data(), sizeof size);
    bytes = bytes.subspan(sizeof size);
    if (bytes.size() < size) throw base::DataError("a page ends within its values");
    values.push_back(bytes.first(size));
    bytes = bytes.subspan(size);
  }
  return values;
}

/// The values of a data page, parted from the levels that say which rows have one.
struct PageParts {
  std::vector<bool> has_value;  ///< of each row
  std::size_t num_values = 0;
  Bytes values;
};

PageParts part_page(const parquet::DataPage& page, std::int16_t max_level) {
  const std::int32_t num_rows = page.num_values();
  if (num_rows < 0 || num_rows > kMaxParquetPageRows)
    throw base::DataError("a page's rows are damaged");
  const auto rows = static_cast<std::size_t>(num_rows);
  PageParts parts{std::vector<bool>(rows, true), rows, bytes_of_page(page)};
  std::vector<std::int16_t> levels(rows, max_level);
  std::size_t level_bytes = 0;
  parquet::LevelDecoder decoder;
  if (const auto* const v2 = dynamic_cast<const parquet::DataPageV2*>(&page)) {
    const std::int32_t length = v2->definition_levels_byte_length();
    if (length < 0 || length > page.size() || v2->repetition_levels_byte_length() != 0)
      throw base::DataError("a page's levels are damaged");
    level_bytes = static_cast<std::size_t>(length);
    if (max_level > 0) decoder.SetDataV2(length, max_level, num_rows, page.data());
  } else if (max_level > 0) {
    const auto& v1 = dynamic_cast<const parquet::DataPageV1&>(page);
    level_bytes = static_cast<std::size_t>(decoder.SetData(
        v1.definition_level_encoding(), max_level, num_rows, page.data(), page.size()));
  }
  if (max_level > 0 && decoder.Decode(num_rows, levels.data()) != num_rows)
    throw base::DataError("a page's levels are damaged");
  for (std::size_t i = 0; i < rows; ++i) parts.has_value[i] = levels[i] == max_level;
  parts.num_values = static_cast<std::size_t>(std::ranges::count(levels, max_level));
  parts.values = parts.values.subspan(std::min(level_bytes, parts.values.size()));
  return parts;
}

std::vector<Bytes> take_from_dictionary(const PageParts& parts, std::span<const Bytes> dictionary) {
  const auto decoder = parquet::MakeDictDecoder<parquet::ByteArrayType>();
  const auto count = static_cast<int>(parts.num_values);
  decoder->SetData(count, parts.values.data(), static_cast<int>(parts.values.size()));
  std::vector<std::int32_t> indices(parts.num_values);
  if (decoder->DecodeIndices(count, indices.data()) != count)
    throw base::DataError("a page ends within its values");
  std::vector<Bytes> values;
  for (const std::int32_t index : indices) {
    if (index < 0 || index >= std::ssize(dictionary))
      throw base::DataError("a page names a value that its dictionary does not hold");
    values.push_back(dictionary[static_cast<std::size_t>(index)]);
  }
  return values;
}

std::vector<Bytes> dictionary_values(const RawPage& raw) {
  const auto* const page = dynamic_cast<const parquet::DictionaryPage*>(raw.page.get());
  if (page == nullptr || page->num_values() < 0)
    throw base::DataError("a dictionary page is damaged");
  return parse_plain(bytes_of_page(*page), static_cast<std::size_t>(page->num_values()));
}

/// What the values of a page in memory point to.
struct Kept {
  RawPage data;
  RawPage dictionary;
  std::unique_ptr<parquet::TypedDecoder<parquet::ByteArrayType>> decoder;
};

/// The values of a page in one of the rarer encodings.
std::vector<Bytes> decode_otherwise(Kept& kept, const parquet::DataPage& page,
                                    const PageParts& parts) {
  kept.decoder = parquet::MakeTypedDecoder<parquet::ByteArrayType>(page.encoding());
  const auto count = static_cast<int>(parts.num_values);
  kept.decoder->SetData(count, parts.values.data(), static_cast<int>(parts.values.size()));
  std::vector<parquet::ByteArray> found(parts.num_values);
  if (kept.decoder->Decode(found.data(), count) != count)
    throw base::DataError("a page ends within its values");
  std::vector<Bytes> values;
  values.reserve(found.size());
  for (const parquet::ByteArray& value : found) values.emplace_back(value.ptr, value.len);
  return values;
}

/// One value for each row; those of nulls are nullptr.
std::vector<Bytes> spread(std::vector<Bytes> values, const std::vector<bool>& has_value) {
  if (values.size() == has_value.size()) return values;
  std::vector<Bytes> rows(has_value.size());
  for (std::size_t row = 0, next = 0; row < rows.size(); ++row)
    if (has_value[row]) rows[row] = values[next++];
  return rows;
}

bool is_dictionary_encoded(parquet::Encoding::type encoding) {
  return encoding == parquet::Encoding::RLE_DICTIONARY ||
         encoding == parquet::Encoding::PLAIN_DICTIONARY;
}

/// How the values, which lie in `content` of the page, are read alone; nullptr if that cannot be.
std::shared_ptr<const ParquetPlaces> find_places(const RawPage& raw, Bytes content,
                                                 std::span<const Bytes> values,
                                                 parquet::Compression::type codec) {
  const auto levels = static_cast<std::uint64_t>(content.data() - raw.page->data());
  const auto* const v2 = dynamic_cast<const parquet::DataPageV2*>(raw.page.get());
  const bool is_compressed =
      codec != parquet::Compression::UNCOMPRESSED && (v2 == nullptr || v2->is_compressed());
  // What is compressed begins behind the levels in the second version of pages only.
  const std::uint64_t plain_head = is_compressed && v2 == nullptr ? 0 : levels;
  const auto* const base = raw.page->data() + plain_head;
  auto places = std::make_shared<ParquetPlaces>();
  places->content = raw.content + plain_head;
  places->size = static_cast<std::uint32_t>(raw.page->data() + raw.page->size() - base);
  if (is_compressed) {
    if (codec != parquet::Compression::SNAPPY) return nullptr;
    const Bytes all{raw.compressed->data(), static_cast<std::size_t>(raw.compressed->size())};
    auto fragments = list_snappy_fragments(all.subspan(raw.header_size + plain_head), places->size);
    if (!fragments) return nullptr;
    places->fragments = *std::move(fragments);
  }
  for (const Bytes value : values) {
    if (value.data() == nullptr) return nullptr;
    places->values.push_back({static_cast<std::uint32_t>(value.data() - base),
                              static_cast<std::uint32_t>(value.size())});
  }
  return places;
}

/// The compressed 64 KiB that hold a value, which is not empty.
struct Fragments {
  std::uint32_t begin = 0;         ///< of their content among the values
  std::uint32_t content_size = 0;  ///< not compressed
  std::uint64_t offset = 0;        ///< in the file
  std::uint32_t size = 0;
};

Fragments fragments_of(const ParquetPlaces& places, const ParquetPlaces::Value& value) {
  constexpr std::uint32_t kFragment = ParquetPlaces::kFragmentBytes;
  const std::size_t first = value.start / kFragment;
  const std::size_t end = (value.start + std::uint64_t{value.size} - 1) / kFragment + 1;
  const auto begin = static_cast<std::uint32_t>(first * kFragment);
  return {begin,
          static_cast<std::uint32_t>(std::min<std::uint64_t>(end * kFragment, places.size) - begin),
          places.content + places.fragments.at(first),
          places.fragments.at(end) - places.fragments.at(first)};
}

/// Bytes before the fragments that are read with them, as room for the head of Snappy's format.
constexpr std::uint32_t kMaxSnappyHead = 5;

void unpack_fragments(arrow::util::Codec& snappy, const Fragments& fragments,
                      const ParquetPlaces::Value& value, std::vector<std::uint8_t>& bytes) {
  std::uint8_t head[kMaxSnappyHead];
  const std::size_t head_size = write_snappy_size(fragments.content_size, head);
  const std::size_t compressed_begin = kMaxSnappyHead - head_size;
  std::copy_n(head, head_size, bytes.begin() + static_cast<std::ptrdiff_t>(compressed_begin));
  const std::size_t compressed_end = bytes.size();
  bytes.resize(compressed_end + fragments.content_size);
  std::uint8_t* const content = bytes.data() + compressed_end;
  PARQUET_ASSIGN_OR_THROW(
      const std::int64_t size,
      snappy.Decompress(static_cast<std::int64_t>(compressed_end - compressed_begin),
                        bytes.data() + compressed_begin, fragments.content_size, content));
  if (size != fragments.content_size)
    throw base::DataError("a page does not hold what it held before");
  std::memmove(bytes.data(), content + (value.start - fragments.begin), value.size);
  bytes.resize(value.size);
}

const ParquetPlaces::Value& value_of(const ParquetPlaces& places, std::size_t row) {
  if (row >= places.values.size()) throw base::DataError("a page holds fewer rows than it should");
  return places.values[row];
}

class Pages final : public ParquetImages {
 public:
  Pages(const std::shared_ptr<const InputFile>& file, const std::string& image)
      : path_(file->path()) {
    with_arrow(path_, [&] {
      const auto reader = parquet::ParquetFileReader::Open(std::make_shared<ArrowInput>(file));
      const parquet::SchemaDescriptor& schema = *reader->metadata()->schema();
      const int number = find_image_column(schema, image);
      const parquet::ColumnDescriptor& column = *schema.Column(number);
      column_ = std::make_unique<parquet::ColumnDescriptor>(
          column.schema_node(), column.max_definition_level(), column.max_repetition_level());
      chunks_ = list_chunks(*reader->metadata(), number, file->size());
      PARQUET_ASSIGN_OR_THROW(snappy_, arrow::util::Codec::Create(arrow::Compression::SNAPPY));
    });
  }

  DecodedParquetPage decode(const InputFile& file, std::uint64_t offset,
                            std::uint64_t size) const override {
    return with_arrow(path_,
                      [&] { return decode_in(chunk_with(offset, size), file, offset, size); });
  }

  ParquetStretch stretch_of(const ParquetPlaces& places, std::size_t row) const override {
    return with_arrow(path_, [&]() -> ParquetStretch {
      const ParquetPlaces::Value& value = value_of(places, row);
      if (places.fragments.empty() || value.size == 0)
        return {places.content + value.start, value.size};
      const Fragments fragments = fragments_of(places, value);
      return {fragments.offset - kMaxSnappyHead, kMaxSnappyHead + fragments.size};
    });
  }

  void unpack(const ParquetPlaces& places, std::size_t row,
              std::vector<std::uint8_t>& bytes) const override {
    if (places.fragments.empty() || bytes.empty()) return;
    with_arrow(path_, [&] {
      const ParquetPlaces::Value& value = value_of(places, row);
      unpack_fragments(*snappy_, fragments_of(places, value), value, bytes);
    });
  }

 private:
  const ColumnChunk& chunk_with(std::uint64_t offset, std::uint64_t size) const {
    const auto chunk = std::ranges::find_if(chunks_, [&](const ColumnChunk& one) {
      return offset >= one.dictionary && offset < one.end;
    });
    if (chunk == chunks_.end() || size > chunk->end - offset) {
      throw base::DataError(
          fmt::format("no page is at byte {}: the file was changed; start anew", offset));
    }
    return *chunk;
  }

  DecodedParquetPage decode_in(const ColumnChunk& chunk, const InputFile& file,
                               std::uint64_t offset, std::uint64_t size) const {
    auto kept = std::make_shared<Kept>();
    kept->data = read_page(file, offset, offset + size, chunk.codec, *column_);
    const auto* const page = dynamic_cast<const parquet::DataPage*>(kept->data.page.get());
    if (page == nullptr) throw base::DataError(fmt::format("no data page is at byte {}", offset));
    const PageParts parts = part_page(*page, column_->max_definition_level());
    DecodedParquetPage decoded;
    if (is_dictionary_encoded(page->encoding())) {
      kept->dictionary = read_dictionary(chunk, file);
      const Bytes content = bytes_of_page(*kept->dictionary.page);
      decoded.values =
          spread(take_from_dictionary(parts, dictionary_values(kept->dictionary)), parts.has_value);
      decoded.places = find_places(kept->dictionary, content, decoded.values, chunk.codec);
      decoded.num_bytes = content.size();
    } else if (page->encoding() == parquet::Encoding::PLAIN) {
      decoded.values = spread(parse_plain(parts.values, parts.num_values), parts.has_value);
      decoded.places = find_places(kept->data, parts.values, decoded.values, chunk.codec);
    } else {
      decoded.values = spread(decode_otherwise(*kept, *page, parts), parts.has_value);
    }
    decoded.num_bytes += static_cast<std::size_t>(page->size());
    kept->data.compressed.reset();
    kept->dictionary.compressed.reset();
    decoded.owner = std::move(kept);
    return decoded;
  }

  RawPage read_dictionary(const ColumnChunk& chunk, const InputFile& file) const {
    if (chunk.dictionary == chunk.data)
      throw base::DataError(fmt::format("the column at byte {} lacks its dictionary", chunk.data));
    return read_page(file, chunk.dictionary, chunk.data, chunk.codec, *column_);
  }

  std::string path_;
  std::unique_ptr<const parquet::ColumnDescriptor> column_;
  std::vector<ColumnChunk> chunks_;
  std::unique_ptr<arrow::util::Codec> snappy_;  ///< without state
};

}  // namespace

std::unique_ptr<const ParquetImages> open_parquet_pages(
    const std::shared_ptr<const InputFile>& file, const std::string& image) {
  return std::make_unique<const Pages>(file, image);
}

}  // namespace paceline::data
