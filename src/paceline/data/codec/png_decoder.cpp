#include "paceline/data/codec/png_decoder.h"

#include "paceline/base/error.h"
#include "paceline/data/image/limits.h"

#include <csetjmp>
#include <cstdio>
#include <cstring>
#include <vector>

#include <png.h>

namespace paceline::data {
namespace {

/// One file being read. As with libjpeg, libpng's errors jump; functions that call setjmp hold only
/// objects without destructors.
struct PngReader {
  std::span<const std::uint8_t> rest;
  png_structp png = nullptr;
  png_infop info = nullptr;
  int passes = 1;
  char message[256] = {};

  explicit PngReader(std::span<const std::uint8_t> bytes);
  ~PngReader() { png_destroy_read_struct(&png, &info, nullptr); }
  PngReader(const PngReader&) = delete;
  PngReader& operator=(const PngReader&) = delete;

  bool try_read_header();
  bool try_read_pixels(std::uint8_t* target);
  bool is_gray_16() const {
    return png_get_bit_depth(png, info) == 16 &&
           png_get_color_type(png, info) == PNG_COLOR_TYPE_GRAY;
  }
  bool try_ask_for_rgb();
  bool try_ask_for_all_bits();
  bool has_transparency() const {
    return (png_get_color_type(png, info) & PNG_COLOR_MASK_ALPHA) != 0 ||
           png_get_valid(png, info, PNG_INFO_tRNS) != 0;
  }
  ImageSize size() const {
    return checked_size(png_get_image_height(png, info), png_get_image_width(png, info));
  }
  [[noreturn]] void fail() const { throw base::DataError(fmt::format("damaged PNG: {}", message)); }
};

[[noreturn]] void report_png_error(png_structp png, png_const_charp text) {
  auto* reader = static_cast<PngReader*>(png_get_error_ptr(png));
  std::snprintf(reader->message, sizeof(reader->message), "%s", text);
  png_longjmp(png, 1);
}

void ignore_png_warning(png_structp, png_const_charp) {}

void read_png_bytes(png_structp png, png_bytep target, std::size_t count) {
  auto* reader = static_cast<PngReader*>(png_get_io_ptr(png));
  if (reader->rest.size() < count) png_error(png, "truncated: the file ends before its pixels do");
  std::memcpy(target, reader->rest.data(), count);
  reader->rest = reader->rest.subspan(count);
}

PngReader::PngReader(std::span<const std::uint8_t> bytes) : rest(bytes) {
  png = png_create_read_struct(PNG_LIBPNG_VER_STRING, this, report_png_error, ignore_png_warning);
  if (png != nullptr) info = png_create_info_struct(png);
  if (info == nullptr) throw std::bad_alloc();
  png_set_read_fn(png, this, read_png_bytes);
}

bool PngReader::try_read_header() {
  if (setjmp(png_jmpbuf(png)) != 0) return false;
  png_set_benign_errors(png, 1);
  png_read_info(png, info);
  return true;
}

/// Asks libpng for three bytes a pixel, except that 16-bit greys stay as they are.
bool PngReader::try_ask_for_rgb() {
  if (setjmp(png_jmpbuf(png)) != 0) return false;
  const int color = png_get_color_type(png, info);
  if (!is_gray_16()) {
    png_set_strip_16(png);
    if (color == PNG_COLOR_TYPE_PALETTE) png_set_palette_to_rgb(png);
    if (color == PNG_COLOR_TYPE_GRAY) png_set_expand_gray_1_2_4_to_8(png);
    if ((color & PNG_COLOR_MASK_COLOR) == 0) png_set_gray_to_rgb(png);
    png_set_strip_alpha(png);
  }
  passes = png_set_interlace_handling(png);
  png_read_update_info(png, info);
  return true;
}

/// Asks libpng for 16 bits of one grey or three colours a pixel.
bool PngReader::try_ask_for_all_bits() {
  if (setjmp(png_jmpbuf(png)) != 0) return false;
  const int color = png_get_color_type(png, info);
  if (color == PNG_COLOR_TYPE_PALETTE) png_set_palette_to_rgb(png);
  if (color == PNG_COLOR_TYPE_GRAY) png_set_expand_gray_1_2_4_to_8(png);
  png_set_expand_16(png);
  png_set_swap(png);  // from big-endian
  passes = png_set_interlace_handling(png);
  png_read_update_info(png, info);
  return true;
}

bool PngReader::try_read_pixels(std::uint8_t* target) {
  if (setjmp(png_jmpbuf(png)) != 0) return false;
  const std::size_t stride = png_get_rowbytes(png, info);
  const std::size_t height = png_get_image_height(png, info);
  for (int pass = 0; pass < passes; ++pass) {
    for (std::size_t y = 0; y < height; ++y) png_read_row(png, target + y * stride, nullptr);
  }
  return true;
}

/// Pillow's I;16 to RGB clips; in place, from the last pixel to the first, since three bytes follow
/// two.
void expand_gray_16(std::uint8_t* pixels, std::size_t count) {
  for (std::size_t i = count; i-- > 0;) {
    const std::uint8_t gray = pixels[2 * i] != 0 ? 255 : pixels[2 * i + 1];
    std::memset(pixels + 3 * i, gray, 3);
  }
}

/// One value of each three, which must be equal.
std::vector<std::uint16_t> gray_of_colors(const std::vector<std::uint16_t>& colors) {
  std::vector<std::uint16_t> grays;
  grays.reserve(colors.size() / 3);
  for (std::size_t i = 0; i < colors.size(); i += 3) {
    if (colors[i] != colors[i + 1] || colors[i] != colors[i + 2])
      throw base::DataError("a picture in colours, expected greys; save it as a grey one");
    grays.push_back(colors[i]);
  }
  return grays;
}

}  // namespace

ImageSize read_png_size(std::span<const std::uint8_t> bytes) {
  PngReader reader(bytes);
  if (!reader.try_read_header()) reader.fail();
  return reader.size();
}

PixelView decode_png(std::span<const std::uint8_t> bytes, PixelBuffer& buffer) {
  PngReader reader(bytes);
  if (!reader.try_read_header()) reader.fail();
  const ImageSize size = reader.size();
  const auto width = static_cast<std::size_t>(size.width);
  const auto height = static_cast<std::size_t>(size.height);
  const bool is_gray_16 = reader.is_gray_16();
  if (!reader.try_ask_for_rgb()) reader.fail();
  const std::size_t row_bytes = png_get_rowbytes(reader.png, reader.info);
  PACELINE_CHECK(row_bytes == (is_gray_16 ? 2 : 3) * width, "libpng gives {} bytes a row of {}",
                 row_bytes, width);
  std::uint8_t* target = buffer.reserve(3 * width * height);
  if (!reader.try_read_pixels(target)) reader.fail();
  if (is_gray_16) expand_gray_16(target, width * height);
  return {target, size, static_cast<std::ptrdiff_t>(3 * width)};
}

GrayImage decode_gray_png(std::span<const std::uint8_t> bytes) {
  PngReader reader(bytes);
  if (!reader.try_read_header()) reader.fail();
  GrayImage image{.size = reader.size()};
  if (reader.has_transparency())
    throw base::DataError("a picture with transparency, expected greys; save it without");
  if (!reader.try_ask_for_all_bits()) reader.fail();
  const auto count =
      static_cast<std::size_t>(image.size.height) * static_cast<std::size_t>(image.size.width);
  const std::size_t channels = png_get_channels(reader.png, reader.info);
  PACELINE_CHECK(
      png_get_rowbytes(reader.png, reader.info) * static_cast<std::size_t>(image.size.height) ==
          2 * channels * count,
      "libpng gives {} channels", channels);
  image.values.resize(channels * count);
  if (!reader.try_read_pixels(reinterpret_cast<std::uint8_t*>(image.values.data()))) reader.fail();
  if (channels == 3) image.values = gray_of_colors(image.values);
  return image;
}

}  // namespace paceline::data
