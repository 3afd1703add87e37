#pragma once

#include "paceline/data/codec/image_format.h"
#include "paceline/data/codec/jpeg/indexed_file.h"
#include "paceline/data/codec/jpeg/stored_coefficients.h"
#include "paceline/data/codec/jpeg_decoder.h"
#include "paceline/data/codec/orientation.h"
#include "paceline/data/image/pixels.h"

#include <cstdint>
#include <span>

namespace paceline::data {

/// Decodes JPEG, PNG, WebP, TIFF, BMP, PGM and PPM files and what packed data sets make of JPEG
/// files; one per thread.
class ImageDecoder {
 public:
  /// Reads the header; `bytes` must stay until decode(). Throws DataError if this is no image file
  /// or a damaged one, or one that was packed without its orientation and is to be turned by it.
  ImageSize open(std::span<const std::uint8_t> bytes, ExifRule exif = ExifRule::kIgnore);

  /// The pixels of `box`, which must lie within the image; once per open(). The view points into
  /// `buffer`. Throws DataError.
  PixelView decode(const Box& box, PixelBuffer& buffer);

 private:
  ImageSize open_stored(std::span<const std::uint8_t> bytes);
  PixelView decode_stored(const Box& box, PixelBuffer& buffer);
  PixelView decode_whole(PixelBuffer& buffer) const;

  JpegDecoder jpeg_;
  jpeg::IndexedFileDecoder indexed_;
  jpeg::StoredCoefficientsDecoder coefficients_;
  std::span<const std::uint8_t> bytes_;
  ImageFormat format_ = ImageFormat::kUnknown;
  Orientation orientation_;  ///< upright if it is not to be applied
  ImageSize stored_size_;
  PixelBuffer stored_;  ///< pixels before they are turned
};

}  // namespace paceline::data
