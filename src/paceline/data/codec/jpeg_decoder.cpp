#include "paceline/data/codec/jpeg_decoder.h"

#include "paceline/base/error.h"
#include "paceline/data/image/limits.h"

#include <optional>

namespace paceline::data {
namespace {

/// Whether an end-of-image marker lies anywhere in the file; searched from the end, where it is in
/// a sound file. Entropy-coded data cannot hold these two bytes.
bool has_end_marker(std::span<const std::uint8_t> bytes) {
  for (std::size_t i = bytes.size(); i >= 2; --i) {
    if (bytes[i - 1] == 0xD9 && bytes[i - 2] == 0xFF) return true;
  }
  return false;
}

}  // namespace

ImageSize JpegDecoder::open(std::span<const std::uint8_t> bytes) {
  if (!has_end_marker(bytes)) {
    throw base::DataError(
        fmt::format("truncated JPEG: no end-of-image marker in its {} bytes", bytes.size()));
  }
  bytes_ = bytes;
  const std::optional<ImageSize> size = baseline_.open(bytes);
  is_baseline_ = size.has_value();
  if (!is_baseline_) return libjpeg_.open(bytes);
  return checked_size(static_cast<std::uint32_t>(size->height),
                      static_cast<std::uint32_t>(size->width));
}

PixelView JpegDecoder::decode(const Box& box, PixelBuffer& buffer) {
  if (is_baseline_) {
    if (const std::optional<PixelView> pixels = baseline_.decode(box, buffer)) return *pixels;
    libjpeg_.open(bytes_);
  }
  return libjpeg_.decode(box, buffer);
}

}  // namespace paceline::data
