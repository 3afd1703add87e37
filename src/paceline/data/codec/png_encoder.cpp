#include "paceline/data/codec/png_encoder.h"

#include "paceline/base/error.h"

#include <csetjmp>
#include <cstdio>
#include <new>

#include <png.h>

namespace paceline::data {
namespace {

/// One file being written. libpng's errors jump; functions that call setjmp hold only objects
/// without destructors.
struct PngWriter {
  std::string bytes;
  png_structp png = nullptr;
  png_infop info = nullptr;
  char message[256] = {};

  PngWriter();
  ~PngWriter() { png_destroy_write_struct(&png, &info); }
  PngWriter(const PngWriter&) = delete;
  PngWriter& operator=(const PngWriter&) = delete;

  bool try_write(const GrayImage& image, char* description);
};

[[noreturn]] void report_write_error(png_structp png, png_const_charp text) {
  auto* writer = static_cast<PngWriter*>(png_get_error_ptr(png));
  std::snprintf(writer->message, sizeof(writer->message), "%s", text);
  png_longjmp(png, 1);
}

void ignore_write_warning(png_structp, png_const_charp) {}

void keep_png_bytes(png_structp png, png_bytep source, std::size_t count) {
  bool is_kept = true;
  try {
    static_cast<PngWriter*>(png_get_io_ptr(png))
        ->bytes.append(reinterpret_cast<const char*>(source), count);
  } catch (const std::bad_alloc&) {
    is_kept = false;  // libpng's frames are no place for exceptions
  }
  if (!is_kept) png_error(png, "no memory for the file");
}

void flush_nothing(png_structp) {}

PngWriter::PngWriter() {
  png = png_create_write_struct(PNG_LIBPNG_VER_STRING, this, report_write_error,
                                ignore_write_warning);
  if (png != nullptr) info = png_create_info_struct(png);
  if (info == nullptr) throw std::bad_alloc();
  png_set_write_fn(png, this, keep_png_bytes, flush_nothing);
}

bool PngWriter::try_write(const GrayImage& image, char* description) {
  if (setjmp(png_jmpbuf(png)) != 0) return false;
  const auto width = static_cast<png_uint_32>(image.size.width);
  const auto height = static_cast<png_uint_32>(image.size.height);
  png_set_IHDR(png, info, width, height, 16, PNG_COLOR_TYPE_GRAY, PNG_INTERLACE_NONE,
               PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
  char keyword[] = "Description";
  png_text text{};
  text.compression = PNG_TEXT_COMPRESSION_NONE;
  text.key = keyword;
  text.text = description;
  if (*description != '\0') png_set_text(png, info, &text, 1);
  png_write_info(png, info);
  png_set_swap(png);  // values are little-endian here, and big-endian there
  const std::uint16_t* row = image.values.data();
  for (png_uint_32 y = 0; y < height; ++y, row += width)
    png_write_row(png, reinterpret_cast<png_const_bytep>(row));
  png_write_end(png, info);
  return true;
}

}  // namespace

std::string encode_gray_png(const GrayImage& image, const std::string& description) {
  PACELINE_CHECK(image.size.height > 0 && image.size.width > 0 &&
                     image.values.size() == static_cast<std::size_t>(image.size.height) *
                                                static_cast<std::size_t>(image.size.width),
                 "{} values of an image of {} x {} pixels", image.values.size(), image.size.width,
                 image.size.height);
  std::string text = description;
  PngWriter writer;
  if (!writer.try_write(image, text.data()))
    throw base::InternalError(fmt::format("cannot encode a PNG file: {}", writer.message));
  return std::move(writer.bytes);
}

}  // namespace paceline::data
