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

bool is_webp(std::span<const std::uint8_t> bytes) {
  return bytes.size() >= 12 &&
         starts_with(bytes, std::array<std::uint8_t, 4>{'R', 'I', 'F', 'F'}) &&
         starts_with(bytes.subspan(8), std::array<std::uint8_t, 4>{'W', 'E', 'B', 'P'});
}

/// "P5" and so on, and a blank.
bool is_pnm(std::span<const std::uint8_t> bytes) {
  if (bytes.size() < 3 || bytes[0] != 'P') return false;
  const std::uint8_t kind = bytes[1];
  const bool is_kind = kind == '2' || kind == '3' || kind == '5' || kind == '6';
  return is_kind && (bytes[2] == ' ' || bytes[2] == '#' || (bytes[2] >= 9 && bytes[2] <= 13));
}

}  // namespace

const char* name_of(ImageFormat format) {
  switch (format) {
    case ImageFormat::kJpeg:
      return "JPEG";
    case ImageFormat::kPng:
      return "PNG";
    case ImageFormat::kWebp:
      return "WebP";
    case ImageFormat::kTiff:
      return "TIFF";
    case ImageFormat::kBmp:
      return "BMP";
    case ImageFormat::kPnm:
      return "PGM or PPM";
    case ImageFormat::kIndexedJpeg:
      return "JPEG with index";
    case ImageFormat::kCoefficients:
      return "JPEG's coefficients";
    case ImageFormat::kUnknown:
      break;
  }
  return "unknown";
}

ImageFormat detect_format(std::span<const std::uint8_t> bytes) {
  constexpr std::array<std::uint8_t, 3> kJpegMagic = {0xFF, 0xD8, 0xFF};
  constexpr std::array<std::uint8_t, 8> kPngMagic = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1A, '\n'};
  if (starts_with(bytes, kJpegMagic)) return ImageFormat::kJpeg;
  if (starts_with(bytes, kPngMagic)) return ImageFormat::kPng;
  if (is_webp(bytes)) return ImageFormat::kWebp;
  if (starts_with(bytes, std::array<std::uint8_t, 4>{'I', 'I', 42, 0}) ||
      starts_with(bytes, std::array<std::uint8_t, 4>{'M', 'M', 0, 42}))
    return ImageFormat::kTiff;
  if (starts_with(bytes, std::array<std::uint8_t, 2>{'B', 'M'})) return ImageFormat::kBmp;
  if (is_pnm(bytes)) return ImageFormat::kPnm;
  if (starts_with(bytes, jpeg::kIndexedMagic)) return ImageFormat::kIndexedJpeg;
  if (starts_with(bytes, jpeg::kStoredMagic)) return ImageFormat::kCoefficients;
  return ImageFormat::kUnknown;
}

}  // namespace paceline::data
