#pragma once

#include "paceline/data/codec/jpeg/baseline_decoder.h"
#include "paceline/data/codec/jpeg/libjpeg_decoder.h"
#include "paceline/data/image/pixels.h"

#include <cstdint>
#include <span>

namespace paceline::data {

/// Decodes JPEG files as Pillow does: libjpeg's accurate DCT and smooth ("fancy") upsampling, EXIF
/// orientation not applied, four components taken as inverted CMYK as Adobe writes it. Sound files
/// of the common kind take a faster way than libjpeg, to the same pixels. One object is meant to be
/// used for many files by one thread.
class JpegDecoder {
 public:
  /// Reads the headers; `bytes` must stay until decode(). Throws DataError if the file is damaged,
  /// lacks its end or is of a kind that Pillow refuses.
  ImageSize open(std::span<const std::uint8_t> bytes);

  /// Decodes the pixels of `box` into `buffer`, once per open(). They equal those of a full decode,
  /// but rows below the box are never read and blocks around it are only parsed. Throws DataError
  /// where the compressed data are damaged on the way to the box's last row.
  PixelView decode(const Box& box, PixelBuffer& buffer);

 private:
  jpeg::BaselineDecoder baseline_;
  jpeg::LibjpegDecoder libjpeg_;
  std::span<const std::uint8_t> bytes_;
  bool is_baseline_ = false;
};

}  // namespace paceline::data
