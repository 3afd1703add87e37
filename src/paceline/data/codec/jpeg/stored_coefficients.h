#pragma once

#include "paceline/data/codec/jpeg/coefficients.h"
#include "paceline/data/codec/jpeg/header.h"
#include "paceline/data/codec/jpeg/reconstruction.h"
#include "paceline/data/image/pixels.h"

#include <cstdint>
#include <optional>
#include <span>

namespace paceline::data::jpeg {

/// Gives the coefficients of the stored form (stored_format.h) back.
class StoredCoefficients final : public CoefficientSource {
 public:
  /// `bytes` must stay. False if they are damaged.
  bool open(std::span<const std::uint8_t> bytes, Header& header);
  bool read(int mcu_row, CoefficientRow& row) override;

 private:
  struct Streams;

  bool read_segment(int mcu_row, int segment, CoefficientRow& row);
  bool read_line(Streams& streams, std::size_t component, int line, int first_mcu, int num_mcus,
                 CoefficientRow& row);
  std::uint32_t offset_of(std::size_t segment) const;

  const Header* header_ = nullptr;
  std::span<const std::uint8_t> offsets_;
  std::span<const std::uint8_t> body_;
  int segments_per_row_ = 0;
  Block unwanted_;  ///< takes what nobody asked for
};

/// Decodes stored coefficients to the pixels of the file they are from.
class StoredCoefficientsDecoder {
 public:
  /// Nothing if the bytes are damaged; they must stay until decode().
  std::optional<ImageSize> open(std::span<const std::uint8_t> bytes);
  std::optional<PixelView> decode(const Box& box, PixelBuffer& buffer);

 private:
  Header header_;
  StoredCoefficients source_;
  Reconstruction reconstruction_;
};

}  // namespace paceline::data::jpeg
