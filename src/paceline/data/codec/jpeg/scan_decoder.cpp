#include "paceline/data/codec/jpeg/scan_decoder.h"

#include "paceline/base/error.h"

#include <algorithm>

namespace paceline::data::jpeg {
namespace {

/// kZigzag, and behind it room for what decoders write before they notice that the block is over.
constexpr std::size_t kMaxOvershoot = 256;
constexpr auto kPlaces = [] {
  std::array<std::uint8_t, kBlockSize + kMaxOvershoot> places{};
  places.fill(kBlockSize);
  std::ranges::copy(kZigzag, places.begin());
  return places;
}();

/// Masks of the lowest bits.
constexpr auto kMasks = [] {
  std::array<std::uint16_t, 16> masks{};
  for (std::size_t i = 0; i < masks.size(); ++i)
    masks[i] = static_cast<std::uint16_t>((1 << i) - 1);
  return masks;
}();

/// Whether a block is in order at its end: full, or with an end-of-block code within it.
bool is_over(std::uint64_t progress) {
  const std::uint64_t place = progress & ~std::uint64_t{progress::kUsedMask};
  return place == progress::kBlockEnd ||
         (place >= progress::kEnded && place < progress::kEnded + progress::kBlockEnd);
}

/// The value whose bits end `length` bits from the top; negative if its first bit is 0.
[[gnu::always_inline]] inline std::int16_t value_before(std::uint64_t bits, std::uint64_t length,
                                                        std::uint32_t num_bits) {
  const std::uint32_t mask = kMasks[num_bits];
  const auto value = static_cast<std::uint32_t>(bits >> (-length & 63)) & mask;
  return static_cast<std::int16_t>(value - (2 * value < mask ? mask : 0));
}

/// A reader within a block, whose missing bits are part of its progress.
struct BlockReader {
  const std::uint8_t* next;
  std::uint64_t bits;
  std::uint64_t progress;

  explicit BlockReader(const BitReader& reader)
      : next(reader.next), bits(reader.bits), progress(progress::kPlace + reader.missing) {}
  BitReader reader() const {
    return {next, bits, static_cast<std::uint32_t>(progress & progress::kUsedMask)};
  }
  [[gnu::always_inline]] void refill() {
    BitReader refilled = reader();
    refilled.refill();
    next = refilled.next;
    bits = refilled.bits;
    progress = (progress & ~std::uint64_t{progress::kUsedMask}) + refilled.missing;
  }
  std::size_t place() const { return progress >> progress::kPlaceShift; }
  [[gnu::always_inline]] void advance(std::uint64_t step) {
    bits <<= step & 63;
    progress += step;
  }

  /// Takes what the table finds by the first of `front`, which are the same as the first of `bits`.
  [[gnu::always_inline]] void take(const AcTable& table, std::uint64_t front,
                                   std::int16_t* values) {
    const std::size_t index = front >> (64 - AcTable::kBits);
    const std::uint64_t step = table.steps[index];
    const std::size_t first_place = kPlaces[place() + table.first_runs[index]];
    const std::int16_t first_value =
        table.first_values[index];  // NOLINT(bugprone-signed-char-misuse)
    const std::int16_t last_value = value_before(bits, step, table.last_num_bits[index]);
    advance(step);
    const std::size_t last_place = kPlaces[place() - 1];
    values[first_place] = first_value;
    values[last_place] = last_value;
  }
  [[gnu::always_inline]] void skip(const AcTable& table, std::uint64_t front) {
    advance(table.steps[front >> (64 - AcTable::kBits)]);
  }
};

/// Takes one symbol whatever the length of its code. False if there is no such code or it leads
/// beyond the block.
bool take_symbol(BlockReader& reader, const CodeFinder& finder, std::int16_t* values) {
  const auto prefix = static_cast<std::uint32_t>(reader.bits >> (64 - CodeFinder::kMaxBits));
  const int length = finder.length(prefix);
  if (length == 0) return false;
  const std::uint8_t symbol = finder.symbol(prefix, length);
  const std::uint32_t run = symbol >> 4;
  const std::uint32_t num_bits = symbol & 15;
  const std::uint32_t num_used = static_cast<std::uint32_t>(length) + num_bits;
  if (num_bits == 0 && run != 15) {
    reader.advance(progress::kEnded + num_used);
    return true;
  }
  const std::size_t place = reader.place() + run;
  if (place >= kBlockSize) return false;
  if (values != nullptr) values[kPlaces[place]] = value_before(reader.bits, num_used, num_bits);
  reader.advance((run + 1) * progress::kPlace + num_used);
  return true;
}

// Bits held after a refill, and used by the longest step.
constexpr int kRefilled = 56;
constexpr int kMaxStep = AcTable::kBits + AcTable::kMaxValueBits;
static_assert(2 * kMaxStep + AcTable::kBits <= kRefilled);
static_assert(DcTable::kBits + DcTable::kMaxValueBits + kMaxStep + AcTable::kBits <= kRefilled);

/// Takes the coefficients behind the first one; returns the block's end, 0 for damaged data. The
/// reader is refilled afterwards.
///
/// A step takes up to kMaxStep bits. Every other one is followed by a refill, so that the bits are
/// enough for two more and for the next index, which therefore need not wait for the refill.
template <bool kKept>
[[gnu::always_inline]] inline int take_block(BitReader& reader, const AcTable& table,
                                             std::int16_t* values) {
  BlockReader block(reader);
  const auto take = [&](std::uint64_t front) {
    if constexpr (kKept) {
      block.take(table, front, values);
    } else {
      block.skip(table, front);
    }
  };
  for (;;) {
    std::uint64_t bits_before = block.bits;
    std::uint64_t progress_before = block.progress;
    take(block.bits);
    if (block.progress < progress::kBlockEnd) {
      const std::uint64_t front = block.bits;
      block.refill();
      bits_before = block.bits;
      progress_before = block.progress;
      take(front);
      if (block.progress < progress::kBlockEnd) continue;
    }
    if (!is_over(block.progress)) [[unlikely]] {
      // A long code, or symbols of which the last ones are no longer of this block.
      BlockReader slow = block;
      slow.bits = bits_before;
      slow.progress = progress_before;
      slow.refill();
      if (!take_symbol(slow, table.finder, values)) return 0;
      block = slow;
    }
    block.refill();
    if (block.progress >= progress::kBlockEnd) break;
  }
  reader = block.reader();
  const auto end = static_cast<int>(block.place());
  return end == kBlockSize ? end : end - static_cast<int>(progress::kEnded / progress::kPlace);
}

/// Takes the first coefficient's difference to that of the block before. False if there is no such
/// code. The reader must have been refilled; enough bits for take_block() stay.
[[gnu::always_inline]] inline bool take_dc(BitReader& reader, const DcTable& table, int& dc) {
  DcTable::Entry entry = table.entries[reader.bits >> (64 - DcTable::kBits)];
  const bool is_long = entry.length == 0;
  if (is_long) [[unlikely]] {
    const std::uint32_t prefix = reader.peek(CodeFinder::kMaxBits);
    const int length = table.finder.length(prefix);
    if (length == 0) return false;
    entry.num_bits = table.finder.symbol(prefix, length);
    entry.length = static_cast<std::uint8_t>(length + entry.num_bits);
  }
  // Damaged data may make it wrap, as in libjpeg.
  dc = static_cast<std::int16_t>(dc + value_before(reader.bits, entry.length, entry.num_bits));
  reader.drop(entry.length);
  if (is_long) [[unlikely]]
    reader.refill();
  return true;
}

}  // namespace

bool ScanDecoder::start(const Header& header, std::span<const std::uint8_t> file) {
  header_ = &header;
  file_ = file;
  end_ = file.size();
  if (!make_plan()) return false;
  num_mcus_ = header.mcu_columns() * header.mcu_rows();
  next_mcu_ = 0;
  dc_ = {};
  start_segment(header.scan_begin, 0);
  return true;
}

bool ScanDecoder::make_plan() {
  num_blocks_ = 0;
  for (std::size_t i = 0; i < header_->num_components; ++i) {
    const Component& component = header_->components[i];
    const DcTable* dc = dc_tables_.find(header_->dc_codes[component.dc_code]);
    const AcTable* ac = ac_tables_.find(header_->ac_codes[component.ac_code]);
    if (dc == nullptr || ac == nullptr) return false;
    for (int row = 0; row < component.rows; ++row) {
      for (int column = 0; column < component.columns; ++column) {
        plan_[num_blocks_++] = {i, row, column, dc, ac, nullptr, component.columns};
      }
    }
  }
  return true;
}

void ScanDecoder::start_segment(std::size_t begin, int skipped_bits) {
  segment_.load(file_, begin, end_);
  reader_.start(segment_.data(), skipped_bits);
}

bool ScanDecoder::seek(int mcu, const EntryPoint& entry, const EntryPoint* end) {
  end_ = file_.size();
  // With the byte behind: it may be the zero that goes with a last 0xFF.
  if (end != nullptr) end_ = std::min<std::size_t>(end_, end->bit / 8 + 2);
  if (mcu < 0 || mcu >= num_mcus_ || entry.bit / 8 < header_->scan_begin || entry.bit / 8 >= end_) {
    return false;
  }
  next_mcu_ = mcu;
  std::ranges::copy(entry.dc, dc_.begin());
  start_segment(entry.bit / 8, static_cast<int>(entry.bit % 8));
  return true;
}

EntryPoint ScanDecoder::position() const {
  const auto bit = static_cast<std::uint64_t>(reader_.used_since(segment_.data()));
  EntryPoint entry;
  entry.bit = segment_.place_in_file(bit / 8) * 8 + bit % 8;
  std::ranges::transform(dc_, entry.dc.begin(),
                         [](int dc) { return static_cast<std::int16_t>(dc); });
  return entry;
}

bool ScanDecoder::skip(int num_mcus) { return pass<false>(num_mcus); }

bool ScanDecoder::read(int mcu_row, CoefficientRow& row) {
  const int columns = header_->mcu_columns();
  const int first = mcu_row * columns + row.first_column();
  PACELINE_CHECK(first >= next_mcu_, "MCU {} is before {}", first, next_mcu_);
  return skip(first - next_mcu_) && decode(row) &&
         skip(columns - row.first_column() - row.columns());
}

bool ScanDecoder::decode(CoefficientRow& row) {
  for (BlockPlan& block : std::span(plan_).first(num_blocks_)) {
    block.target = row.line(block.component, block.row) + block.column;
  }
  row.clear();
  return pass<true>(row.columns());
}

template <bool kKept>
bool ScanDecoder::pass(int num_mcus) {
  const int interval = header_->restart_interval;
  if (interval == 0) return pass_within_segment<kKept>(num_mcus);
  while (num_mcus > 0) {
    const int part = std::min(num_mcus, interval - next_mcu_ % interval);
    if (!pass_within_segment<kKept>(part)) return false;
    num_mcus -= part;
    if (next_mcu_ % interval == 0 && next_mcu_ < num_mcus_ && !restart()) return false;
  }
  return true;
}

template <bool kKept>
bool ScanDecoder::pass_within_segment(int num_mcus) {
  // Copies that stay in registers.
  BitReader reader = reader_;
  std::array<int, kMaxComponents> dc = dc_;
  const std::uint8_t* const limit = segment_.data() + segment_.size() + sizeof(reader.bits);
  for (int mcu = 0; mcu < num_mcus; ++mcu) {
    for (std::size_t i = 0; i < num_blocks_; ++i) {
      BlockPlan& block = plan_[i];
      if (!take_dc(reader, *block.dc, dc[block.component])) return false;
      std::int16_t* values = nullptr;
      if constexpr (kKept) {
        values = block.target->values;
      }
      const int end = take_block<kKept>(reader, *block.ac, values);
      if (end == 0) return false;
      if constexpr (kKept) {
        values[0] = static_cast<std::int16_t>(dc[block.component]);
        block.target->end = static_cast<std::int16_t>(end);
        block.target += block.step;
      }
    }
    if (reader.next > limit) return false;
  }
  reader_ = reader;
  dc_ = dc;
  next_mcu_ += num_mcus;
  return reader.used_since(segment_.data()) <= static_cast<std::int64_t>(8 * segment_.size());
}

/// Goes on behind the restart marker, which must be the expected one and follow at once.
bool ScanDecoder::restart() {
  const auto size_bits = static_cast<std::int64_t>(8 * segment_.size());
  const std::size_t marker = segment_.end_in_file();
  const int number = (next_mcu_ / header_->restart_interval - 1) % 8;
  if (reader_.used_since(segment_.data()) <= size_bits - 8 || marker + 2 > end_ ||
      file_[marker + 1] != 0xD0 + number) {
    return false;
  }
  dc_ = {};
  start_segment(marker + 2, 0);
  return true;
}

}  // namespace paceline::data::jpeg
