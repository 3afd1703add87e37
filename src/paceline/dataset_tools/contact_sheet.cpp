#include "paceline/dataset_tools/contact_sheet.h"

#include "paceline/base/error.h"
#include "paceline/base/file.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>

#include <png.h>

namespace paceline::dataset_tools {
namespace {

constexpr int kGap = 4;  ///< pixels around each tile
constexpr std::uint8_t kGrey = 48;

/// The largest size within a tile that keeps the shape, but none larger than the image's own.
data::ImageSize fitting(data::ImageSize image, int tile) {
  const double scale =
      std::min(1.0, tile / static_cast<double>(std::max(image.height, image.width)));
  const auto scaled = [&](int side) {
    return std::max(1, static_cast<int>(std::lround(side * scale)));
  };
  return {scaled(image.height), scaled(image.width)};
}

}  // namespace

ContactSheet::ContactSheet(std::int64_t count, int tile)
    : tile_(tile),
      columns_(std::max<std::int64_t>(
          1, static_cast<std::int64_t>(std::ceil(std::sqrt(static_cast<double>(count)))))) {
  PACELINE_CHECK(count > 0 && tile > 0, "{} images in tiles of {} pixels", count, tile);
  const std::int64_t rows = (count + columns_ - 1) / columns_;
  const auto side = [&](std::int64_t tiles) {
    return static_cast<int>(tiles * (tile + kGap) + kGap);
  };
  size_ = {side(rows), side(columns_)};
  pixels_.assign(std::size_t{3} * static_cast<std::size_t>(size_.height) *
                     static_cast<std::size_t>(size_.width),
                 kGrey);
}

void ContactSheet::put(std::int64_t place, const data::PixelView& image) {
  const data::PixelView small =
      resizer_.resize(image, fitting(image.size, tile_), data::Interpolation::kBilinear, small_);
  const auto begin = [&](std::int64_t number, int side) {
    return static_cast<std::ptrdiff_t>(number * (tile_ + kGap) + kGap + (tile_ - side) / 2);
  };
  const std::ptrdiff_t top = begin(place / columns_, small.size.height);
  const std::ptrdiff_t left = begin(place % columns_, small.size.width);
  for (int y = 0; y < small.size.height; ++y) {
    std::memcpy(pixels_.data() + 3 * ((top + y) * size_.width + left), small.row(y),
                std::size_t{3} * static_cast<std::size_t>(small.size.width));
  }
}

data::PixelView ContactSheet::pixels() const {
  return {pixels_.data(), size_, std::ptrdiff_t{3} * size_.width};
}

void ContactSheet::write_png(const std::filesystem::path& path) const {
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  image.format = PNG_FORMAT_RGB;
  image.width = static_cast<png_uint_32>(size_.width);
  image.height = static_cast<png_uint_32>(size_.height);
  png_alloc_size_t size = 0;
  const auto encode = [&](void* bytes) {
    if (png_image_write_to_memory(&image, bytes, &size, 0, pixels_.data(), 0, nullptr) == 0)
      throw base::DataError(fmt::format("{}: cannot encode: {}", path.string(), image.message));
  };
  encode(nullptr);  // how many bytes it takes
  std::string png(size, '\0');
  encode(png.data());
  base::RealFileSystem files;
  base::write_file_atomically(files, path, png);
}

}  // namespace paceline::dataset_tools
