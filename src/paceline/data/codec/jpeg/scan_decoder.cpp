#include "paceline/data/codec/jpeg/scan_decoder.h"

#include "paceline/base/error.h"

#include <algorithm>

namespace paceline::data::jpeg {
namespace {

constexpr int kEnd = kBlockSize;

/// kZigzag, and behind it room for what decoders write before they notice that the block is over.
constexpr std::size_t kMaxOvershoot = 64;
constexpr auto kPlaces = [] {
  std::array<std::uint8_t, kBlockSize + kMaxOvershoot> places{};
  places.fill(kBlockSize);
  std::ranges::copy(kZigzag, places.begin());
  return places;
}();

/// Whether taking a table's entry left the block in order: at its end, or by an end-of-block code
/// within it.
bool is_over(int place) {
  return place == kEnd || (place >= AcTable::kEnded && place < AcTable::kEnded + kEnd);
}

/// `num_bits` (0 to 15) of the bits from the top, as a coefficient. The shift in two steps is for
/// zero.
int top_value(std::uint64_t bits, unsigned num_bits) {
  const auto is_negative = ~static_cast<std::uint64_t>(static_cast<std::int64_t>(bits) >> 63);
  const unsigned shift = 63 - num_bits;
  return static_cast<int>(bits >> 1 >> shift) - static_cast<int>(is_negative >> 1 >> shift);
}

/// Takes one symbol at `place` whatever the length of its code, and returns the new place; 0 if
/// there is no such code or it leads beyond the block.
template <bool kKept>
int take_symbol(BitReader& reader, const CodeFinder& finder, int place, std::int16_t* values) {
  const std::uint32_t prefix = reader.peek(CodeFinder::kMaxBits);
  const int length = finder.length(prefix);
  if (length == 0) return 0;
  const std::uint8_t symbol = finder.symbol(prefix, length);
  const int run = symbol >> 4;
  const int num_bits = symbol & 15;
  reader.drop(length);
  if (num_bits == 0 && run != 15) return place + AcTable::kEnded;
  place += run;
  if (place >= kEnd) return 0;
  if constexpr (kKept) {
    values[kPlaces[static_cast<std::size_t>(place)]] =
        static_cast<std::int16_t>(top_value(reader.bits, static_cast<unsigned>(num_bits)));
  }
  reader.drop(num_bits);
  return place + 1;
}

/// Takes an entry's symbols at `place` and returns the new place.
[[gnu::always_inline]] inline int take_entry(BitReader& reader, const AcTable& table, int place,
                                             std::int16_t* values) {
  const AcTable::Entry entry = table.entries[reader.bits >> (64 - AcTable::kBits)];
  const auto at = static_cast<std::size_t>(place);
  values[kPlaces[at + entry.first]] = entry.first_value;
  values[kPlaces[at + entry.last]] =
      static_cast<std::int16_t>(top_value(reader.bits << entry.last_bit, entry.last_num_bits));
  reader.drop(entry.length);
  return place + entry.advance;
}

[[gnu::always_inline]] inline int skip_entry(BitReader& reader, const AcTable& table, int place) {
  const AcTable::SkipEntry entry = table.skip_entries[reader.bits >> (64 - AcTable::kSkipBits)];
  reader.drop(entry.length);
  return place + entry.advance;
}

template <bool kKept>
[[gnu::always_inline]] inline int take(BitReader& reader, const AcTable& table, int place,
                                       std::int16_t* values) {
  if constexpr (kKept) {
    return take_entry(reader, table, place, values);
  } else {
    return skip_entry(reader, table, place);
  }
}

/// Takes the coefficients behind the first one; returns the block's end, 0 for damaged data. The
/// reader must have been refilled and is so afterwards. Two entries take at most 2 * 27 bits.
template <bool kKept>
[[gnu::always_inline]] inline int take_block(BitReader& reader, const AcTable& table,
                                             std::int16_t* values) {
  int place = 1;
  while (place < kEnd) {
    const std::uint64_t ahead = reader.look_ahead();
    BitReader before = reader;
    int place_before = place;
    place = take<kKept>(reader, table, place, values);
    if (place < kEnd) {
      before = reader;
      place_before = place;
      place = take<kKept>(reader, table, place, values);
    }
    if (place > kEnd && !is_over(place)) [[unlikely]] {
      // A long code, or symbols of which the last ones are no longer of this block.
      BitReader slow = before;
      slow.refill(ahead);
      place = take_symbol<kKept>(slow, table.finder, place_before, values);
      if (place == 0) return 0;
      slow.refill();
      reader = slow;
      continue;
    }
    reader.refill(ahead);
  }
  return place == kEnd ? kEnd : place - AcTable::kEnded;
}

/// Takes the first coefficient's difference to that of the block before. False if there is no such
/// code.
[[gnu::always_inline]] inline bool take_dc(BitReader& reader, const DcTable& table, int& dc) {
  const std::uint64_t ahead = reader.look_ahead();
  DcTable::Entry entry = table.entries[reader.bits >> (64 - DcTable::kBits)];
  if (entry.length == 0) [[unlikely]] {
    const std::uint32_t prefix = reader.peek(CodeFinder::kMaxBits);
    const int length = table.finder.length(prefix);
    if (length == 0) return false;
    entry.code_length = static_cast<std::uint8_t>(length);
    entry.num_bits = table.finder.symbol(prefix, length);
    entry.length = static_cast<std::uint8_t>(length + entry.num_bits);
  }
  // Damaged data may make it wrap, as in libjpeg.
  dc = static_cast<std::int16_t>(dc + top_value(reader.bits << entry.code_length, entry.num_bits));
  reader.drop(entry.length);
  reader.refill(ahead);
  return true;
}

}  // namespace

bool ScanDecoder::start(const Header& header, std::span<const std::uint8_t> file) {
  header_ = &header;
  file_ = file;
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
  segment_.load(file_, begin, file_.size());
  reader_.start(segment_.data(), skipped_bits);
}

bool ScanDecoder::seek(int mcu, const EntryPoint& entry) {
  if (mcu < 0 || mcu >= num_mcus_ || entry.bit / 8 < header_->scan_begin ||
      entry.bit / 8 >= file_.size()) {
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
  const std::int64_t size_bits = static_cast<std::int64_t>(8 * segment_.size());
  const std::size_t marker = segment_.end_in_file();
  const int number = (next_mcu_ / header_->restart_interval - 1) % 8;
  if (reader_.used_since(segment_.data()) <= size_bits - 8 || marker + 2 > file_.size() ||
      file_[marker + 1] != 0xD0 + number) {
    return false;
  }
  dc_ = {};
  start_segment(marker + 2, 0);
  return true;
}

}  // namespace paceline::data::jpeg
