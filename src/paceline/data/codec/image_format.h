#pragma once

#include <cstdint>
#include <span>

namespace paceline::data {

enum class ImageFormat {
  kUnknown,
  kJpeg,
  kPng,
  kIndexedJpeg,   ///< codec/jpeg/indexed_file.h
  kCoefficients,  ///< those of a JPEG file: codec/jpeg/stored_format.h
};

/// Told by the first bytes, never by a file's name: ImageNet has a PNG named .JPEG.
ImageFormat detect_format(std::span<const std::uint8_t> bytes);

}  // namespace paceline::data
