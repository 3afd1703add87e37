#include "paceline/data/codec/jpeg/store_coefficients.h"

#include "paceline/data/codec/jpeg/coefficients.h"
#include "paceline/data/codec/jpeg/scan_decoder.h"
#include "paceline/data/codec/jpeg/stored_format.h"

#include <algorithm>
#include <array>
#include <limits>

namespace paceline::data::jpeg {
namespace {

template <class T>
void append(std::vector<std::uint8_t>& bytes, const T& value) {
  const auto* const begin = reinterpret_cast<const std::uint8_t*>(&value);
  bytes.insert(bytes.end(), begin, begin + sizeof value);
}

/// Writes the blocks of one segment.
class SegmentWriter {
 public:
  void add(const Block& block, int& dc_before) {
    std::array<std::int16_t, kBlockSize> values;
    std::copy_n(block.values, kBlockSize, values.begin());
    values[0] = static_cast<std::int16_t>(block.values[0] - dc_before);
    dc_before = block.values[0];
    std::uint64_t mask = 0;
    int count = 0;
    const std::size_t patches_begin = patches_.size();
    for (std::size_t i = 0; i < kBlockSize; ++i) {
      if (values[i] == 0) continue;
      mask |= std::uint64_t{1} << i;
      add_value(values[i], count++);
      add_patch(values[i], i);
    }
    append(masks_, mask);
    const std::size_t num_patches = (patches_.size() - patches_begin) / 2;
    if (num_blocks_ % 8 == 0) patch_flags_.push_back(0);
    if (num_patches > 0) {
      patches_.insert(patches_.begin() + static_cast<std::ptrdiff_t>(patches_begin),
                      static_cast<std::uint8_t>(num_patches));
      patch_flags_.back() |= static_cast<std::uint8_t>(1 << num_blocks_ % 8);
    }
    ++num_blocks_;
  }

  void finish(std::vector<std::uint8_t>& bytes) {
    bytes.insert(bytes.end(), masks_.begin(), masks_.end());
    bytes.insert(bytes.end(), patch_flags_.begin(), patch_flags_.end());
    append(bytes, SegmentLengths{static_cast<std::uint16_t>(nibbles_.size()),
                                 static_cast<std::uint16_t>(escapes_.size())});
    bytes.insert(bytes.end(), nibbles_.begin(), nibbles_.end());
    bytes.insert(bytes.end(), escapes_.begin(), escapes_.end());
    bytes.insert(bytes.end(), patches_.begin(), patches_.end());
    for (std::vector<std::uint8_t>* stream :
         {&masks_, &patch_flags_, &nibbles_, &escapes_, &patches_})
      stream->clear();
    num_blocks_ = 0;
  }

 private:
  void add_value(std::int16_t value, int number) {
    const bool is_escape = value < -kLargestNibble || value > kLargestNibble;
    const int nibble = is_escape ? 0 : value + kLargestNibble + 1;
    if (number % 2 == 0) nibbles_.push_back(0);
    nibbles_.back() |= static_cast<std::uint8_t>(nibble << 4 * (number % 2));
    if (is_escape) escapes_.push_back(static_cast<std::uint8_t>(value));
  }

  /// What an escape's 8 bits have no room for.
  void add_patch(std::int16_t value, std::size_t place) {
    const int rest = (value - static_cast<std::int8_t>(value)) / 256;
    if (rest == 0) return;
    patches_.push_back(static_cast<std::uint8_t>(place));
    patches_.push_back(static_cast<std::uint8_t>(rest));
  }

  std::vector<std::uint8_t> masks_;
  std::vector<std::uint8_t> patch_flags_;
  std::vector<std::uint8_t> nibbles_;
  std::vector<std::uint8_t> escapes_;
  std::vector<std::uint8_t> patches_;
  std::size_t num_blocks_ = 0;
};

void write_segment(const Header& header, int first_mcu, CoefficientRow& row, SegmentWriter& writer,
                   std::vector<std::uint8_t>& body) {
  const int num_mcus = std::min(kSegmentMcus, header.mcu_columns() - first_mcu);
  for (std::size_t i = 0; i < header.num_components; ++i) {
    const Component& component = header.components[i];
    int dc = 0;
    for (int line = 0; line < component.rows; ++line) {
      const Block* const blocks = row.line(i, line) + std::ptrdiff_t{first_mcu} * component.columns;
      for (int b = 0; b < num_mcus * component.columns; ++b) writer.add(blocks[b], dc);
    }
  }
  writer.finish(body);
}

std::vector<std::uint8_t> head_of(const Header& header, std::size_t num_segments,
                                  std::size_t body_size) {
  StoredHead head;
  std::ranges::copy(kStoredMagic, head.magic);
  head.width = static_cast<std::uint16_t>(header.size.width);
  head.height = static_cast<std::uint16_t>(header.size.height);
  head.num_components = static_cast<std::uint8_t>(header.num_components);
  head.num_segments = static_cast<std::uint32_t>(num_segments);
  head.body_size = static_cast<std::uint32_t>(body_size);
  std::vector<std::uint8_t> bytes;
  for (std::size_t i = 0; i < header.num_components; ++i) {
    const Component& component = header.components[i];
    head.components[i] = {static_cast<std::uint8_t>(component.columns),
                          static_cast<std::uint8_t>(component.rows),
                          static_cast<std::uint8_t>(component.quantisers)};
    head.num_quantisers =
        std::max(head.num_quantisers, static_cast<std::uint16_t>(component.quantisers + 1));
  }
  append(bytes, head);
  for (std::size_t i = 0; i < head.num_quantisers; ++i) append(bytes, header.quantisers[i].values);
  return bytes;
}

}  // namespace

std::optional<std::vector<std::uint8_t>> store_coefficients(std::span<const std::uint8_t> file) {
  Header header;
  ScanDecoder scan;
  if (!parse_header(file, header) || !scan.start(header, file)) return std::nullopt;
  CoefficientRow row;
  row.resize(header, 0, header.mcu_columns());
  SegmentWriter writer;
  std::vector<std::uint8_t> body;
  std::vector<std::uint32_t> offsets;
  for (int mcu_row = 0; mcu_row < header.mcu_rows(); ++mcu_row) {
    if (!scan.read(mcu_row, row)) return std::nullopt;
    for (int mcu = 0; mcu < header.mcu_columns(); mcu += kSegmentMcus) {
      offsets.push_back(static_cast<std::uint32_t>(body.size()));
      write_segment(header, mcu, row, writer, body);
    }
  }
  if (body.size() > std::numeric_limits<std::uint32_t>::max()) return std::nullopt;
  offsets.push_back(static_cast<std::uint32_t>(body.size()));
  std::vector<std::uint8_t> bytes = head_of(header, offsets.size() - 1, body.size());
  for (const std::uint32_t offset : offsets) append(bytes, offset);
  bytes.insert(bytes.end(), body.begin(), body.end());
  bytes.resize(bytes.size() + kStoredPadding);
  return bytes;
}

}  // namespace paceline::data::jpeg
