#pragma once

#include "paceline/data/codec/jpeg/bit_reader.h"
#include "paceline/data/codec/jpeg/coefficients.h"
#include "paceline/data/codec/jpeg/header.h"
#include "paceline/data/codec/jpeg/huffman_table.h"
#include "paceline/data/codec/jpeg/segment.h"

#include <array>
#include <cstdint>
#include <span>

namespace paceline::data::jpeg {

/// Where decoding can start without what is before.
struct EntryPoint {
  std::uint64_t bit = 0;                          ///< of the next MCU, from the file's begin
  std::array<std::int16_t, kMaxComponents> dc{};  ///< values that the next differences are added to
  friend bool operator==(const EntryPoint&, const EntryPoint&) = default;
};

/// Entropy decoding of a file's only scan. MCUs are numbered by rows. Functions that return bool
/// return false where the data are damaged, or so odd that libjpeg must judge them; after that only
/// start() makes sense.
class ScanDecoder final : public CoefficientSource {
 public:
  /// Starts at the first MCU. Both arguments must stay; `header` must be that of `file`.
  bool start(const Header& header, std::span<const std::uint8_t> file);

  /// Continues at MCU `mcu`, to which `entry` belongs. If an entry point of a later MCU is given as
  /// `end`, nothing behind it is looked at, and MCUs from there on may seem damaged.
  bool seek(int mcu, const EntryPoint& entry, const EntryPoint* end = nullptr);
  /// The entry point of the next MCU.
  EntryPoint position() const;
  int next_mcu() const { return next_mcu_; }

  /// Passes over MCUs.
  bool skip(int num_mcus);
  /// Decodes the row's stretch, which must start at the next MCU.
  bool decode(CoefficientRow& row);
  /// Decodes the row's stretch and passes over all MCUs before and beside it.
  bool read(int mcu_row, CoefficientRow& row) override;

 private:
  /// What to do with a block of an MCU.
  struct BlockPlan {
    std::size_t component = 0;
    int row = 0;  ///< within the MCU
    int column = 0;
    const DcTable* dc = nullptr;
    const AcTable* ac = nullptr;
    Block* target = nullptr;
    int step = 0;  ///< to the target in the next MCU
  };
  static constexpr std::size_t kMaxBlocks = 6;

  bool make_plan();
  template <bool kKept>
  bool pass(int num_mcus);
  template <bool kKept>
  bool pass_within_segment(int num_mcus);
  void start_segment(std::size_t begin, int skipped_bits);
  bool restart();

  const Header* header_ = nullptr;
  std::span<const std::uint8_t> file_;
  std::size_t end_ = 0;  ///< what lies behind in the file does not matter
  TableCache<DcTable> dc_tables_;
  TableCache<AcTable> ac_tables_;
  std::array<BlockPlan, kMaxBlocks> plan_;
  std::size_t num_blocks_ = 0;

  Segment segment_;
  BitReader reader_;
  std::array<int, kMaxComponents> dc_{};
  int next_mcu_ = 0;
  int num_mcus_ = 0;
};

}  // namespace paceline::data::jpeg
