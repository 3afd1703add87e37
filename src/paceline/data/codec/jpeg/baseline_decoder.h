#pragma once

#include "paceline/data/codec/jpeg/header.h"
#include "paceline/data/codec/jpeg/reconstruction.h"
#include "paceline/data/codec/jpeg/scan_decoder.h"
#include "paceline/data/image/pixels.h"

#include <cstdint>
#include <optional>
#include <span>

namespace paceline::data::jpeg {

/// Decodes the common kind of JPEG file (parse_header) to the same pixels as libjpeg, faster. One
/// object is meant to be used for many files by one thread.
class BaselineDecoder {
 public:
  /// The image's size if this decoder can try; `file` must stay until decode().
  std::optional<ImageSize> open(std::span<const std::uint8_t> file);

  /// The pixels of `box`, in `buffer`. Nothing if the compressed data that libjpeg would read for
  /// them are damaged or odd: libjpeg must judge them.
  std::optional<PixelView> decode(const Box& box, PixelBuffer& buffer);

 private:
  std::span<const std::uint8_t> file_;
  Header header_;
  ScanDecoder scan_;
  Reconstruction reconstruction_;
};

}  // namespace paceline::data::jpeg
