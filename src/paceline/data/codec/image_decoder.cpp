#include "paceline/data/codec/image_decoder.h"

#include "paceline/base/error.h"
#include "paceline/data/codec/bmp_decoder.h"
#include "paceline/data/codec/png_decoder.h"
#include "paceline/data/codec/pnm_decoder.h"
#include "paceline/data/codec/tiff_decoder.h"
#include "paceline/data/codec/webp_decoder.h"
#include "paceline/data/image/limits.h"

#include <algorithm>
#include <optional>
#include <string>

namespace paceline::data {
namespace {

[[noreturn]] void refuse_format(std::span<const std::uint8_t> bytes) {
  if (bytes.empty()) throw base::DataError("the image file is empty");
  std::string start;
  for (const std::uint8_t byte : bytes.first(std::min<std::size_t>(bytes.size(), 4))) {
    start += fmt::format(" {:02x}", byte);
  }
  throw base::DataError(
      fmt::format("not a JPEG, PNG, WebP, TIFF, BMP, PGM or PPM file: it starts with{}", start));
}

[[noreturn]] void refuse_packed() {
  throw base::DataError("damaged packed form of a JPEG file: pack the data set again");
}

[[noreturn]] void refuse_unknown_orientation() {
  throw base::DataError(
      "data.exif is apply, and this image was packed as coefficients, which keep no EXIF: pack "
      "the data set by --mode indexed or files");
}

ImageSize size_of_packed(const std::optional<ImageSize>& size) {
  if (!size) refuse_packed();
  return checked_size(static_cast<std::uint32_t>(size->height),
                      static_cast<std::uint32_t>(size->width));
}

PixelView pixels_of_packed(const std::optional<PixelView>& pixels) {
  if (!pixels) refuse_packed();
  return *pixels;
}

}  // namespace

ImageSize ImageDecoder::open(std::span<const std::uint8_t> bytes, ExifRule exif) {
  stored_.give_back();
  stored_size_ = open_stored(bytes);
  orientation_ = {};
  if (exif == ExifRule::kIgnore) return stored_size_;
  if (format_ == ImageFormat::kCoefficients) refuse_unknown_orientation();
  orientation_ = read_orientation(bytes);
  return orientation_.turned(stored_size_);
}

ImageSize ImageDecoder::open_stored(std::span<const std::uint8_t> bytes) {
  bytes_ = bytes;
  format_ = detect_format(bytes);
  switch (format_) {
    case ImageFormat::kJpeg:
      return jpeg_.open(bytes);
    case ImageFormat::kPng:
      return read_png_size(bytes);
    case ImageFormat::kWebp:
      return read_webp_size(bytes);
    case ImageFormat::kTiff:
      return read_tiff_size(bytes);
    case ImageFormat::kBmp:
      return read_bmp_size(bytes);
    case ImageFormat::kPnm:
      return read_pnm_size(bytes);
    case ImageFormat::kIndexedJpeg:
      return size_of_packed(indexed_.open(bytes));
    case ImageFormat::kCoefficients:
      return size_of_packed(coefficients_.open(bytes));
    case ImageFormat::kUnknown:
      break;
  }
  refuse_format(bytes);
}

PixelView ImageDecoder::decode(const Box& box, PixelBuffer& buffer) {
  if (orientation_.is_upright()) return decode_stored(box, buffer);
  const PixelView stored = decode_stored(orientation_.stored_box(box, stored_size_), stored_);
  const std::ptrdiff_t stride = padded_stride(box.width);
  std::uint8_t* const pixels =
      buffer.reserve(static_cast<std::size_t>(stride) * static_cast<std::size_t>(box.height));
  orientation_.turn(stored, pixels, stride);
  return {pixels, box.size(), stride};
}

PixelView ImageDecoder::decode_stored(const Box& box, PixelBuffer& buffer) {
  if (format_ == ImageFormat::kJpeg) return jpeg_.decode(box, buffer);
  if (format_ == ImageFormat::kIndexedJpeg) return pixels_of_packed(indexed_.decode(box, buffer));
  if (format_ == ImageFormat::kCoefficients)
    return pixels_of_packed(coefficients_.decode(box, buffer));
  return decode_whole(buffer).part(box);
}

/// Of formats that are not made for parts.
PixelView ImageDecoder::decode_whole(PixelBuffer& buffer) const {
  switch (format_) {
    case ImageFormat::kWebp:
      return decode_webp(bytes_, buffer);
    case ImageFormat::kTiff:
      return decode_tiff(bytes_, buffer);
    case ImageFormat::kBmp:
      return decode_bmp(bytes_, buffer);
    case ImageFormat::kPnm:
      return decode_pnm(bytes_, buffer);
    default:
      PACELINE_CHECK(format_ == ImageFormat::kPng, "decode() before open()");
      return decode_png(bytes_, buffer);
  }
}

}  // namespace paceline::data
