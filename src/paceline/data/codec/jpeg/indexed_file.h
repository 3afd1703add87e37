#pragma once

#include "paceline/data/codec/jpeg/header.h"
#include "paceline/data/codec/jpeg/reconstruction.h"
#include "paceline/data/codec/jpeg/scan_decoder.h"
#include "paceline/data/image/pixels.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace paceline::data::jpeg {

// A JPEG file, byte for byte, behind an index of places where its entropy decoding can start, so
// that of a crop little more than its own MCUs is decoded:
//
//   kIndexedMagic | bytes of the index, 32 bits | the index | the file
//
// There is an entry point at every kIndexedPixels pixels of each MCU row. Each is written as what
// it has more than the one before: bits, then the predictors of all components, as LEB128 numbers,
// those with a sign as 2 n or -2 n - 1.

inline constexpr std::string_view kIndexedMagic = "PACEIDX1";
inline constexpr int kIndexedPixels = 64;

/// The indexed form of a file of the common kind (parse_header); nothing for other files and
/// damaged ones.
std::optional<std::vector<std::uint8_t>> index_file(std::span<const std::uint8_t> file);

/// The file of an indexed form; other bytes as they are.
std::span<const std::uint8_t> without_index(std::span<const std::uint8_t> bytes);

/// Decodes the indexed form to the pixels of the file.
class IndexedFileDecoder {
 public:
  /// Nothing if the bytes are damaged; they must stay until decode().
  std::optional<ImageSize> open(std::span<const std::uint8_t> bytes);
  std::optional<PixelView> decode(const Box& box, PixelBuffer& buffer);

 private:
  /// Starts at the entry point before each stretch that is asked for.
  class Source final : public CoefficientSource {
   public:
    bool start(const Header& header, std::span<const std::uint8_t> file,
               std::span<const EntryPoint> entries);
    bool read(int mcu_row, CoefficientRow& row) override;

   private:
    const Header* header_ = nullptr;
    std::span<const EntryPoint> entries_;
    ScanDecoder scan_;
  };

  bool read_entries(std::span<const std::uint8_t> index);

  std::span<const std::uint8_t> file_;
  Header header_;
  std::vector<EntryPoint> entries_;
  Source source_;
  Reconstruction reconstruction_;
};

}  // namespace paceline::data::jpeg
