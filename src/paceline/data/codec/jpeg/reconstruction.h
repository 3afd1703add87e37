#pragma once

#include "paceline/data/codec/jpeg/coefficients.h"
#include "paceline/data/codec/jpeg/header.h"
#include "paceline/data/image/pixels.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace paceline::data::jpeg {

/// The MCUs whose coefficients the pixels of `box` depend on: smooth upsampling looks one sample of
/// chroma further. Like libjpeg, which must agree on damage, this counts the MCU row below as soon
/// as a box reaches the last two pixel rows of an MCU row of low chroma.
Box needed_mcus(const Header& header, const Box& box);

/// Turns coefficients into the pixels that libjpeg makes of them, one MCU row at a time, whoever
/// made the coefficients. One object is meant to be used for many images.
class Reconstruction {
 public:
  /// Bytes behind the last row of pixels that may be written.
  static constexpr std::size_t kTargetPadding = 192;

  /// The pixels of `box`, in `buffer`. Nothing if the source fails.
  std::optional<PixelView> decode(const Header& header, const Box& box, CoefficientSource& source,
                                  PixelBuffer& buffer);

  /// Writes the pixels of `box` to `target`, rows without gaps. False, with some pixels written, if
  /// the source fails.
  bool run(const Header& header, const Box& box, CoefficientSource& source, std::uint8_t* target);

 private:
  /// The samples of one component in an MCU row, the sample before each row's first, and a row
  /// above and below.
  struct Plane {
    PixelBuffer memory;
    std::uint8_t* first = nullptr;
    std::ptrdiff_t stride = 0;
    int rows = 0;

    void resize(int num_rows, int width);
    std::uint8_t* row(int y) const { return first + y * stride; }
    void copy_row(int from, int to);
  };

  void prepare(const Header& header, const Box& box);
  void transform_row();
  void extend_chroma(int mcu_row);
  void write_rows(int mcu_row);
  void write_row(int mcu_row, int y);
  const std::uint8_t* chroma_row(std::size_t component, int y);

  const Header* header_ = nullptr;
  Box box_;
  Box mcus_;
  std::uint8_t* target_ = nullptr;
  CoefficientRow coefficients_;
  std::array<Plane, kMaxComponents> planes_;
  std::array<PixelBuffer, kMaxComponents> upsampled_;
};

}  // namespace paceline::data::jpeg
