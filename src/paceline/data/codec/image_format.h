#pragma once

#include <cstdint>
#include <span>

namespace paceline::data {

enum class ImageFormat {
  kUnknown,
  kJpeg,
  kPng,
  kWebp,
  kTiff,
  kBmp,
  kPnm,           ///< PGM or PPM
  kIndexedJpeg,   ///< codec/jpeg/indexed_file.h
  kCoefficients,  ///< those of a JPEG file: codec/jpeg/stored_format.h
};

/// What people call it: "PNG".
const char* name_of(ImageFormat format);

/// Told by the first bytes, never by a file's name: ImageNet has a PNG named .JPEG.
ImageFormat detect_format(std::span<const std::uint8_t> bytes);

}  // namespace paceline::data
