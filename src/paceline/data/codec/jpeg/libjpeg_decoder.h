#pragma once

#include "paceline/data/image/pixels.h"

#include <cstdint>
#include <memory>
#include <span>

namespace paceline::data::jpeg {

/// Decodes JPEG files of any kind by libjpeg; what its pixels and errors are is said of
/// JpegDecoder.
class LibjpegDecoder {
 public:
  LibjpegDecoder();
  ~LibjpegDecoder();
  LibjpegDecoder(LibjpegDecoder&&) noexcept;
  LibjpegDecoder& operator=(LibjpegDecoder&&) noexcept;

  /// Reads the headers; `bytes` must stay until decode(). Throws DataError if the file is damaged,
  /// lacks its end or is of a kind that Pillow refuses.
  ImageSize open(std::span<const std::uint8_t> bytes);

  /// Decodes the pixels of `box` into `buffer`, once per open(). They equal those of a full decode,
  /// but rows below the box are never read and blocks around it are only parsed. Throws DataError
  /// where the compressed data are damaged on the way to the box's last row.
  PixelView decode(const Box& box, PixelBuffer& buffer);

 private:
  struct Handle;
  std::unique_ptr<Handle> handle_;
};

}  // namespace paceline::data::jpeg
