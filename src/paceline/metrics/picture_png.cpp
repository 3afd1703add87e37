#include "paceline/metrics/picture_png.h"

#include "paceline/base/error.h"

#include <cstddef>

#include <png.h>

namespace paceline::metrics {

std::string encode_png(const Picture& picture) {
  PACELINE_CHECK(picture.width > 0 && picture.height > 0 &&
                     picture.pixels.size() == std::size_t{3} *
                                                  static_cast<std::size_t>(picture.width) *
                                                  static_cast<std::size_t>(picture.height),
                 "picture {}: {} bytes for {} x {} pixels", picture.name, picture.pixels.size(),
                 picture.width, picture.height);
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  image.format = PNG_FORMAT_RGB;
  image.width = static_cast<png_uint_32>(picture.width);
  image.height = static_cast<png_uint_32>(picture.height);
  png_alloc_size_t size = PNG_IMAGE_PNG_SIZE_MAX(image);  // so that it is compressed once
  std::string png(size, '\0');
  if (png_image_write_to_memory(&image, png.data(), &size, 0, picture.pixels.data(), 0, nullptr) ==
      0)
    throw base::InternalError(
        fmt::format("picture {}: cannot encode it: {}", picture.name, image.message));
  png.resize(size);
  return png;
}

}  // namespace paceline::metrics
