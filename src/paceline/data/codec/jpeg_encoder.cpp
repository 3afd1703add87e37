#include "paceline/data/codec/jpeg_encoder.h"

#include "paceline/base/error.h"

#include <memory>

#include <turbojpeg.h>

namespace paceline::data {

std::vector<std::uint8_t> encode_jpeg(const PixelView& image, int quality) {
  PACELINE_CHECK(image.size.height > 0 && image.size.width > 0, "an image of {} x {} pixels",
                 image.size.width, image.size.height);
  const std::unique_ptr<void, int (*)(void*)> encoder(tjInitCompress(), tjDestroy);
  unsigned long size = tjBufSize(image.size.width, image.size.height, TJSAMP_420);
  std::vector<std::uint8_t> bytes(size);
  std::uint8_t* target = bytes.data();
  const int result = tjCompress2(encoder.get(), image.pixels, image.size.width,
                                 static_cast<int>(image.stride), image.size.height, TJPF_RGB,
                                 &target, &size, TJSAMP_420, quality, TJFLAG_NOREALLOC);
  PACELINE_CHECK(result == 0, "cannot encode a JPEG file: {}", tjGetErrorStr2(encoder.get()));
  bytes.resize(size);
  return bytes;
}

}  // namespace paceline::data
