#include "paceline/data/codec/gray_decoder.h"

#include "paceline/base/error.h"
#include "paceline/data/codec/image_format.h"
#include "paceline/data/codec/jpeg_decoder.h"
#include "paceline/data/codec/png_decoder.h"
#include "paceline/data/codec/tiff_decoder.h"

namespace paceline::data {
namespace {

GrayImage decode_gray_jpeg(std::span<const std::uint8_t> bytes) {
  JpegDecoder decoder;
  PixelBuffer buffer;
  GrayImage image{.size = decoder.open(bytes)};
  const PixelView pixels = decoder.decode(whole(image.size), buffer);
  image.values.reserve(static_cast<std::size_t>(image.size.height) *
                       static_cast<std::size_t>(image.size.width));
  constexpr std::uint16_t kSpread = 65535 / 255;
  for (int y = 0; y < image.size.height; ++y) {
    const std::uint8_t* pixel = pixels.row(y);
    for (int x = 0; x < image.size.width; ++x, pixel += 3) {
      if (pixel[0] != pixel[1] || pixel[0] != pixel[2])
        throw base::DataError("a picture in colours, expected greys; save it as a grey one");
      image.values.push_back(static_cast<std::uint16_t>(pixel[0] * kSpread));
    }
  }
  return image;
}

}  // namespace

GrayImage decode_gray(std::span<const std::uint8_t> bytes) {
  switch (detect_format(bytes)) {
    case ImageFormat::kPng:
      return decode_gray_png(bytes);
    case ImageFormat::kJpeg:
      return decode_gray_jpeg(bytes);
    case ImageFormat::kTiff:
      return decode_gray_tiff(bytes);
    default:
      throw base::DataError("neither a PNG nor a JPEG or TIFF file; save it as PNG");
  }
}

}  // namespace paceline::data
