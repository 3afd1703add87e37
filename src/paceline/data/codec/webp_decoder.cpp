#include "paceline/data/codec/webp_decoder.h"

#include "paceline/base/error.h"
#include "paceline/data/codec/limits.h"

#include <webp/decode.h>

namespace paceline::data {

ImageSize read_webp_size(std::span<const std::uint8_t> bytes) {
  WebPBitstreamFeatures features;
  if (WebPGetFeatures(bytes.data(), bytes.size(), &features) != VP8_STATUS_OK)
    throw base::DataError("damaged WebP: its header cannot be read");
  if (features.has_animation != 0)
    throw base::DataError("an animated WebP: only still pictures can be decoded");
  return checked_size(static_cast<std::uint32_t>(features.height),
                      static_cast<std::uint32_t>(features.width));
}

PixelView decode_webp(std::span<const std::uint8_t> bytes, PixelBuffer& buffer) {
  const ImageSize size = read_webp_size(bytes);
  const std::ptrdiff_t stride = std::ptrdiff_t{3} * size.width;
  const std::size_t count =
      static_cast<std::size_t>(stride) * static_cast<std::size_t>(size.height);
  std::uint8_t* const target = buffer.reserve(count);
  if (WebPDecodeRGBInto(bytes.data(), bytes.size(), target, count, static_cast<int>(stride)) ==
      nullptr) {
    throw base::DataError("damaged WebP: its pixels are damaged or end early");
  }
  return {target, size, stride};
}

}  // namespace paceline::data
