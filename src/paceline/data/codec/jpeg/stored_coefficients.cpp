#include "paceline/data/codec/jpeg/stored_coefficients.h"

#include "paceline/data/codec/jpeg/block_expansion.h"
#include "paceline/data/codec/jpeg/stored_format.h"

#include <algorithm>
#include <cstring>
#include <string_view>

namespace paceline::data::jpeg {
namespace {

std::size_t blocks_per_mcu(const Header& header) {
  std::size_t count = 0;
  for (const Component& component : std::span(header.components).first(header.num_components))
    count += static_cast<std::size_t>(component.columns * component.rows);
  return count;
}

}  // namespace

bool StoredCoefficients::open(std::span<const std::uint8_t> bytes, Header& header) {
  StoredHead head;
  if (bytes.size() < sizeof head) return false;
  std::memcpy(&head, bytes.data(), sizeof head);
  if (std::string_view(head.magic, sizeof head.magic) != kStoredMagic) return false;
  if (head.num_components != 1 && head.num_components != kMaxComponents) return false;
  if (head.width == 0 || head.height == 0 || head.num_quantisers > header.quantisers.size())
    return false;
  header.size = {head.height, head.width};
  header.num_components = head.num_components;
  for (std::size_t i = 0; i < header.num_components; ++i) {
    const auto& [columns, rows, quantisers] = head.components[i];
    const int most = i == 0 ? 2 : 1;  // chroma is never finer than luma
    if (columns < 1 || columns > most || rows < 1 || rows > most) return false;
    if (quantisers >= head.num_quantisers) return false;
    header.components[i] = {.columns = columns, .rows = rows, .quantisers = quantisers};
  }
  segments_per_row_ = segments_in_row(header);
  if (head.num_segments != static_cast<std::uint32_t>(segments_per_row_ * header.mcu_rows()))
    return false;
  const std::size_t quantiser_bytes = head.num_quantisers * kBlockSize * sizeof(std::int16_t);
  const std::size_t offset_bytes = (head.num_segments + std::size_t{1}) * sizeof(std::uint32_t);
  if (bytes.size() !=
      sizeof head + quantiser_bytes + offset_bytes + head.body_size + kStoredPadding)
    return false;
  for (std::size_t i = 0; i < head.num_quantisers; ++i) {
    std::memcpy(header.quantisers[i].values.data(),
                bytes.data() + sizeof head + i * kBlockSize * sizeof(std::int16_t),
                kBlockSize * sizeof(std::int16_t));
  }
  offsets_ = bytes.subspan(sizeof head + quantiser_bytes, offset_bytes);
  body_ = bytes.subspan(sizeof head + quantiser_bytes + offset_bytes, head.body_size);
  header_ = &header;
  return true;
}

std::uint32_t StoredCoefficients::offset_of(std::size_t segment) const {
  std::uint32_t offset = 0;
  std::memcpy(&offset, offsets_.data() + segment * sizeof offset, sizeof offset);
  return offset;
}

bool StoredCoefficients::read(int mcu_row, CoefficientRow& row) {
  const int end = row.first_column() + row.columns();
  for (int segment = row.first_column() / kSegmentMcus; segment * kSegmentMcus < end; ++segment) {
    if (!read_segment(mcu_row, segment, row)) return false;
  }
  return true;
}

struct StoredCoefficients::Streams {
  BlockStreams blocks;
  int dc = 0;
};

bool StoredCoefficients::read_segment(int mcu_row, int segment, CoefficientRow& row) {
  const int first_mcu = segment * kSegmentMcus;
  const int num_mcus = std::min(kSegmentMcus, header_->mcu_columns() - first_mcu);
  const std::size_t number =
      static_cast<std::size_t>(mcu_row) * static_cast<std::size_t>(segments_per_row_) +
      static_cast<std::size_t>(segment);
  const std::uint32_t begin = offset_of(number);
  const std::uint32_t end = offset_of(number + 1);
  const std::size_t num_blocks = static_cast<std::size_t>(num_mcus) * blocks_per_mcu(*header_);
  const std::size_t flag_bytes = (num_blocks + 7) / 8;
  SegmentLengths lengths;
  const std::size_t fixed = num_blocks * kMaskBytes + flag_bytes + sizeof lengths;
  if (begin > end || end > body_.size() || end - begin < fixed) return false;
  const std::uint8_t* const data = body_.data() + begin;
  std::memcpy(&lengths, data + fixed - sizeof lengths, sizeof lengths);
  if (std::size_t{lengths.nibble_bytes} + lengths.escape_bytes > end - begin - fixed) return false;
  Streams streams;
  BlockStreams& blocks = streams.blocks;
  blocks.masks = data;
  blocks.patch_flags = data + num_blocks * kMaskBytes;
  blocks.nibbles = data + fixed;
  blocks.nibbles_end = blocks.escapes = blocks.nibbles + lengths.nibble_bytes;
  blocks.escapes_end = blocks.patches = blocks.escapes + lengths.escape_bytes;
  blocks.patches_end = body_.data() + end;
  for (std::size_t i = 0; i < header_->num_components; ++i) {
    streams.dc = 0;
    for (int line = 0; line < header_->components[i].rows; ++line) {
      if (!read_line(streams, i, line, first_mcu, num_mcus, row)) return false;
    }
  }
  return true;
}

bool StoredCoefficients::read_line(Streams& streams, std::size_t component, int line, int first_mcu,
                                   int num_mcus, CoefficientRow& row) {
  const int columns = header_->components[component].columns;
  const int begin = std::max(first_mcu, row.first_column());
  const int end = std::min(first_mcu + num_mcus, row.first_column() + row.columns());
  Block* const target =
      row.line(component, line) + std::ptrdiff_t{begin - row.first_column()} * columns;
  BlockStreams& blocks = streams.blocks;
  return expand_blocks(blocks, (begin - first_mcu) * columns, streams.dc, &unwanted_, 0) &&
         expand_blocks(blocks, (end - begin) * columns, streams.dc, target, 1) &&
         expand_blocks(blocks, (first_mcu + num_mcus - end) * columns, streams.dc, &unwanted_, 0);
}

std::optional<ImageSize> StoredCoefficientsDecoder::open(std::span<const std::uint8_t> bytes) {
  if (!source_.open(bytes, header_)) return std::nullopt;
  return header_.size;
}

std::optional<PixelView> StoredCoefficientsDecoder::decode(const Box& box, PixelBuffer& buffer) {
  return reconstruction_.decode(header_, box, source_, buffer);
}

}  // namespace paceline::data::jpeg
