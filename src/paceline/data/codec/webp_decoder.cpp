#include "paceline/data/codec/webp_decoder.h"

#include "paceline/base/error.h"
#include "paceline/data/image/limits.h"

#include <cstring>
#include <memory>

#include <webp/decode.h>
#include <webp/demux.h>

namespace paceline::data {

namespace {

struct DeleteDemuxer {
  void operator()(WebPDemuxer* demuxer) const { WebPDemuxDelete(demuxer); }
};

/// Writes the first frame of an animation, which may cover a part of the canvas; the rest is black,
/// as it is in Pillow when the canvas's transparency is dropped.
void decode_first_frame(std::span<const std::uint8_t> bytes, ImageSize canvas,
                        std::uint8_t* target) {
  const WebPData data{bytes.data(), bytes.size()};
  const std::unique_ptr<WebPDemuxer, DeleteDemuxer> demuxer(WebPDemux(&data));
  WebPIterator frame{};
  if (!demuxer || WebPDemuxGetFrame(demuxer.get(), 1, &frame) == 0)
    throw base::DataError("damaged WebP: its first frame is damaged or ends early");
  const std::size_t stride = std::size_t{3} * static_cast<std::size_t>(canvas.width);
  const std::size_t count = stride * static_cast<std::size_t>(canvas.height);
  const auto is_inside = [](int offset, int size, int whole) {
    return offset >= 0 && size > 0 && offset <= whole && size <= whole - offset;
  };
  bool is_sound = is_inside(frame.x_offset, frame.width, canvas.width) &&
                  is_inside(frame.y_offset, frame.height, canvas.height);
  if (is_sound) {
    std::memset(target, 0, count);
    const std::size_t at = stride * static_cast<std::size_t>(frame.y_offset) +
                           std::size_t{3} * static_cast<std::size_t>(frame.x_offset);
    is_sound = WebPDecodeRGBInto(frame.fragment.bytes, frame.fragment.size, target + at, count - at,
                                 static_cast<int>(stride)) != nullptr;
  }
  WebPDemuxReleaseIterator(&frame);
  if (!is_sound) throw base::DataError("damaged WebP: the pixels of its first frame are damaged");
}

}  // namespace

ImageSize read_webp_size(std::span<const std::uint8_t> bytes) {
  WebPBitstreamFeatures features;
  if (WebPGetFeatures(bytes.data(), bytes.size(), &features) != VP8_STATUS_OK)
    throw base::DataError("damaged WebP: its header cannot be read");
  return checked_size(static_cast<std::uint32_t>(features.height),
                      static_cast<std::uint32_t>(features.width));
}

PixelView decode_webp(std::span<const std::uint8_t> bytes, PixelBuffer& buffer) {
  const ImageSize size = read_webp_size(bytes);
  const std::ptrdiff_t stride = std::ptrdiff_t{3} * size.width;
  const std::size_t count =
      static_cast<std::size_t>(stride) * static_cast<std::size_t>(size.height);
  std::uint8_t* const target = buffer.reserve(count);
  WebPBitstreamFeatures features;
  if (WebPGetFeatures(bytes.data(), bytes.size(), &features) == VP8_STATUS_OK &&
      features.has_animation != 0) {
    decode_first_frame(bytes, size, target);
    return {target, size, stride};
  }
  if (WebPDecodeRGBInto(bytes.data(), bytes.size(), target, count, static_cast<int>(stride)) ==
      nullptr) {
    throw base::DataError("damaged WebP: its pixels are damaged or end early");
  }
  return {target, size, stride};
}

}  // namespace paceline::data
