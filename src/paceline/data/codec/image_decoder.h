#pragma once

#include "paceline/data/codec/image_format.h"
#include "paceline/data/codec/jpeg/indexed_file.h"
#include "paceline/data/codec/jpeg/stored_coefficients.h"
#include "paceline/data/codec/jpeg_decoder.h"
#include "paceline/data/image/pixels.h"

#include <cstdint>
#include <span>

namespace paceline::data {

/// Decodes JPEG, PNG, WebP, TIFF, BMP, PGM and PPM files and what packed data sets make of JPEG
/// files; one per thread.
class ImageDecoder {
 public:
  /// Reads the header; `bytes` must stay until decode(). Throws DataError if this is no image file
  /// or a damaged one.
  ImageSize open(std::span<const std::uint8_t> bytes);

  /// The pixels of `box`, which must lie within the image; once per open(). The view points into
  /// `buffer`. Throws DataError.
  PixelView decode(const Box& box, PixelBuffer& buffer);

 private:
  PixelView decode_whole(PixelBuffer& buffer) const;

  JpegDecoder jpeg_;
  jpeg::IndexedFileDecoder indexed_;
  jpeg::StoredCoefficientsDecoder coefficients_;
  std::span<const std::uint8_t> bytes_;
  ImageFormat format_ = ImageFormat::kUnknown;
};

}  // namespace paceline::data
