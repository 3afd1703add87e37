#include "paceline/data/codec/image_format.h"

#include "paceline/data/codec/jpeg/indexed_file.h"
#include "paceline/data/codec/jpeg/stored_format.h"

#include <algorithm>
#include <array>

namespace paceline::data {
namespace {

template <class Magic>
bool starts_with(std::span<const std::uint8_t> bytes, const Magic& magic) {
  return bytes.size() >= magic.size() && std::ranges::equal(bytes.first(magic.size()), magic);
}

}  // namespace

ImageFormat detect_format(std::span<const std::uint8_t> bytes) {
  constexpr std::array<std::uint8_t, 3> kJpegMagic = {0xFF, 0xD8, 0xFF};
  constexpr std::array<std::uint8_t, 8> kPngMagic = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1A, '\n'};
  if (starts_with(bytes, kJpegMagic)) return ImageFormat::kJpeg;
  if (starts_with(bytes, kPngMagic)) return ImageFormat::kPng;
  if (starts_with(bytes, jpeg::kIndexedMagic)) return ImageFormat::kIndexedJpeg;
  if (starts_with(bytes, jpeg::kStoredMagic)) return ImageFormat::kCoefficients;
  return ImageFormat::kUnknown;
}

}  // namespace paceline::data
