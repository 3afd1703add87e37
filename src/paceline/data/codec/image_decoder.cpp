#include "paceline/data/codec/image_decoder.h"

#include "paceline/base/error.h"
#include "paceline/data/codec/limits.h"
#include "paceline/data/codec/png_decoder.h"

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
  throw base::DataError(fmt::format("neither JPEG nor PNG: the file starts with{}", start));
}

[[noreturn]] void refuse_packed() {
  throw base::DataError("damaged packed form of a JPEG file: pack the data set again");
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

ImageSize ImageDecoder::open(std::span<const std::uint8_t> bytes) {
  bytes_ = bytes;
  format_ = detect_format(bytes);
  switch (format_) {
    case ImageFormat::kJpeg:
      return jpeg_.open(bytes);
    case ImageFormat::kPng:
      return read_png_size(bytes);
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
  if (format_ == ImageFormat::kJpeg) return jpeg_.decode(box, buffer);
  if (format_ == ImageFormat::kIndexedJpeg) return pixels_of_packed(indexed_.decode(box, buffer));
  if (format_ == ImageFormat::kCoefficients)
    return pixels_of_packed(coefficients_.decode(box, buffer));
  PACELINE_CHECK(format_ == ImageFormat::kPng, "decode() before open()");
  return decode_png(bytes_, buffer).part(box);
}

}  // namespace paceline::data
