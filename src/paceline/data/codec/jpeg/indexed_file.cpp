#include "paceline/data/codec/jpeg/indexed_file.h"

#include <algorithm>
#include <cstring>

namespace paceline::data::jpeg {
namespace {

using IndexSize = std::uint32_t;
constexpr std::size_t kHeadBytes = kIndexedMagic.size() + sizeof(IndexSize);

int mcus_per_entry(const Header& header) { return kIndexedPixels / header.mcu_width(); }

std::size_t entries_per_row(const Header& header) {
  return static_cast<std::size_t>((header.mcu_columns() + mcus_per_entry(header) - 1) /
                                  mcus_per_entry(header));
}

void append_number(std::vector<std::uint8_t>& bytes, std::uint64_t number) {
  for (; number >= 128; number >>= 7) bytes.push_back(static_cast<std::uint8_t>(number | 128));
  bytes.push_back(static_cast<std::uint8_t>(number));
}

std::uint64_t without_sign(std::int64_t number) {
  return number >= 0 ? 2 * static_cast<std::uint64_t>(number)
                     : 2 * static_cast<std::uint64_t>(-(number + 1)) + 1;
}

std::int64_t with_sign(std::uint64_t number) {
  const auto half = static_cast<std::int64_t>(number >> 1);
  return (number & 1) == 0 ? half : -half - 1;
}

/// Takes a number off the front; false if there is none.
bool take_number(std::span<const std::uint8_t>& bytes, std::uint64_t& number) {
  number = 0;
  for (int shift = 0; shift < 64 && !bytes.empty(); shift += 7) {
    const std::uint8_t byte = bytes.front();
    bytes = bytes.subspan(1);
    number |= std::uint64_t{byte & 127u} << shift;
    if (byte < 128) return true;
  }
  return false;
}

void append_entry(std::vector<std::uint8_t>& index, const EntryPoint& entry,
                  const EntryPoint& before, std::size_t num_components) {
  append_number(index, entry.bit - before.bit);
  for (std::size_t i = 0; i < num_components; ++i)
    append_number(index, without_sign(entry.dc[i] - before.dc[i]));
}

bool take_entry(std::span<const std::uint8_t>& index, EntryPoint& entry,
                std::size_t num_components) {
  std::uint64_t number = 0;
  if (!take_number(index, number)) return false;
  entry.bit += number;
  for (std::size_t i = 0; i < num_components; ++i) {
    constexpr std::uint64_t kLargestStep = std::uint64_t{1} << 17;  // between 16-bit numbers
    if (!take_number(index, number) || number > kLargestStep) return false;
    entry.dc[i] = static_cast<std::int16_t>(entry.dc[i] + with_sign(number));
  }
  return true;
}

/// Nothing if this is no indexed form, or is cut off within the index.
std::optional<IndexSize> index_size_of(std::span<const std::uint8_t> bytes) {
  if (bytes.size() < kHeadBytes ||
      !std::ranges::equal(bytes.first(kIndexedMagic.size()), kIndexedMagic))
    return std::nullopt;
  IndexSize index_size = 0;
  std::memcpy(&index_size, bytes.data() + kIndexedMagic.size(), sizeof index_size);
  if (index_size > bytes.size() - kHeadBytes) return std::nullopt;
  return index_size;
}

}  // namespace

std::optional<std::vector<std::uint8_t>> index_file(std::span<const std::uint8_t> file) {
  Header header;
  ScanDecoder scan;
  if (!parse_header(file, header) || !scan.start(header, file)) return std::nullopt;
  std::vector<std::uint8_t> index;
  EntryPoint before;
  for (int mcu_row = 0; mcu_row < header.mcu_rows(); ++mcu_row) {
    for (int mcu = 0; mcu < header.mcu_columns(); mcu += mcus_per_entry(header)) {
      const EntryPoint entry = scan.position();
      append_entry(index, entry, before, header.num_components);
      before = entry;
      if (!scan.skip(std::min(mcus_per_entry(header), header.mcu_columns() - mcu)))
        return std::nullopt;
    }
  }
  const auto index_size = static_cast<IndexSize>(index.size());
  std::vector<std::uint8_t> bytes(kIndexedMagic.begin(), kIndexedMagic.end());
  const auto* const size_bytes = reinterpret_cast<const std::uint8_t*>(&index_size);
  bytes.insert(bytes.end(), size_bytes, size_bytes + sizeof index_size);
  bytes.insert(bytes.end(), index.begin(), index.end());
  bytes.insert(bytes.end(), file.begin(), file.end());
  return bytes;
}

std::span<const std::uint8_t> without_index(std::span<const std::uint8_t> bytes) {
  const std::optional<IndexSize> index_size = index_size_of(bytes);
  return index_size ? bytes.subspan(kHeadBytes + *index_size) : bytes;
}

std::optional<ImageSize> IndexedFileDecoder::open(std::span<const std::uint8_t> bytes) {
  const std::optional<IndexSize> index_size = index_size_of(bytes);
  if (!index_size) return std::nullopt;
  file_ = bytes.subspan(kHeadBytes + *index_size);
  if (!parse_header(file_, header_)) return std::nullopt;
  if (!read_entries(bytes.subspan(kHeadBytes, *index_size))) return std::nullopt;
  return header_.size;
}

bool IndexedFileDecoder::read_entries(std::span<const std::uint8_t> index) {
  entries_.resize(entries_per_row(header_) * static_cast<std::size_t>(header_.mcu_rows()));
  EntryPoint entry;
  for (EntryPoint& next : entries_) {
    if (!take_entry(index, entry, header_.num_components)) return false;
    next = entry;
  }
  return index.empty();
}

std::optional<PixelView> IndexedFileDecoder::decode(const Box& box, PixelBuffer& buffer) {
  if (!source_.start(header_, file_, entries_)) return std::nullopt;
  return reconstruction_.decode(header_, box, source_, buffer);
}

bool IndexedFileDecoder::Source::start(const Header& header, std::span<const std::uint8_t> file,
                                       std::span<const EntryPoint> entries) {
  header_ = &header;
  entries_ = entries;
  return scan_.start(header, file);
}

bool IndexedFileDecoder::Source::read(int mcu_row, CoefficientRow& row) {
  const int step = mcus_per_entry(*header_);
  const int first = row.first_column() / step;
  const std::size_t row_begin = static_cast<std::size_t>(mcu_row) * entries_per_row(*header_);
  const EntryPoint& entry = entries_[row_begin + static_cast<std::size_t>(first)];
  const int columns = header_->mcu_columns();
  // The first entry point that is not needed any more.
  const int last_column = row.first_column() + row.columns() - 1;
  const std::size_t end = row_begin + static_cast<std::size_t>(last_column / step) + 1;
  return scan_.seek(mcu_row * columns + first * step, entry,
                    end < entries_.size() ? &entries_[end] : nullptr) &&
         scan_.skip(row.first_column() - first * step) && scan_.decode(row);
}

}  // namespace paceline::data::jpeg
