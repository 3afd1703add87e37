#include "paceline/data/codec/jpeg/libjpeg_decoder.h"

#include <algorithm>
#include <csetjmp>
#include <cstdio>

// libjpeg's header needs FILE and size_t to be declared before it.
#include "paceline/base/error.h"
#include "paceline/data/image/limits.h"

#include <jerror.h>
#include <jpeglib.h>

namespace paceline::data::jpeg {

namespace {

/// What progressive files have at most is about ten.
constexpr int kMaxScans = 100;
/// Of all scans together: ten scans of the largest image. A pass over so many takes seconds.
constexpr std::int64_t kMaxScannedPixels = 10 * kMaxPixels;
/// Of a file of several scans, whose coefficients are all kept until the last one: 89 million
/// pixels with whole colours, 179 million with halved ones.
constexpr std::int64_t kMaxCoefficientBytes = std::int64_t{512} << 20;

/// Pillow's CMYK to RGB, for components stored inverted.
void convert_inverted_cmyk(const std::uint8_t* cmyk, std::uint8_t* rgb, int count) {
  for (int i = 0; i < count; ++i) {
    const int key = cmyk[4 * i + 3];
    for (int channel = 0; channel < 3; ++channel) {
      const int product = (255 - cmyk[4 * i + channel]) * key + 128;
      const int ink = (product + (product >> 8)) >> 8;
      rgb[3 * i + channel] = static_cast<std::uint8_t>(std::clamp(key - ink, 0, 255));
    }
  }
}

}  // namespace

/// libjpeg reports errors by a call that must not return. Its C frames have no unwind tables, so an
/// exception cannot leave them: jump_out() jumps instead, and every function that calls setjmp
/// holds only objects without destructors.
struct LibjpegDecoder::Handle {
  jpeg_decompress_struct decoder{};
  jpeg_error_mgr errors{};
  jpeg_progress_mgr progress{};
  std::jmp_buf on_error{};
  char message[JMSG_LENGTH_MAX] = {};

  Handle();
  ~Handle() { jpeg_destroy_decompress(&decoder); }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;

  bool try_open(std::span<const std::uint8_t> bytes);
  /// Begins decoding; on return `region` is what will come out: the rows of the box, in wider
  /// columns.
  bool try_start(Box* region);
  bool try_read(const Box& region, std::uint8_t* target);
  std::int64_t coefficient_bytes();
  [[noreturn]] void fail();

  static Handle& of(j_common_ptr any) { return *static_cast<Handle*>(any->client_data); }
  [[noreturn]] static void jump_out(j_common_ptr any);
  static void on_message(j_common_ptr any, int level);
  static void on_progress(j_common_ptr any);
};

void LibjpegDecoder::Handle::jump_out(j_common_ptr any) {
  Handle& handle = of(any);
  (*any->err->format_message)(any, handle.message);
  std::longjmp(handle.on_error, 1);
}

/// Warnings that mean lost pixels are errors; libjpeg would carry on with grey. The others (bytes
/// that belong to nothing, odd markers) leave the picture whole.
void LibjpegDecoder::Handle::on_message(j_common_ptr any, int level) {
  if (level >= 0) return;
  switch (any->err->msg_code) {
    case JWRN_JPEG_EOF:
    case JWRN_HIT_MARKER:
    case JWRN_HUFF_BAD_CODE:
    case JWRN_MUST_RESYNC:
      jump_out(any);
    default:
      break;
  }
}

/// A progressive file may name the same coefficients over and over, at a pass over the whole image
/// each time.
void LibjpegDecoder::Handle::on_progress(j_common_ptr any) {
  const auto* decoder = reinterpret_cast<j_decompress_ptr>(any);
  const int scan = decoder->input_scan_number;
  const std::int64_t pixels = std::int64_t{decoder->image_width} * decoder->image_height;
  Handle& handle = of(any);
  if (scan > kMaxScans) {
    std::snprintf(handle.message, sizeof(handle.message), "it has more than %d scans", kMaxScans);
    std::longjmp(handle.on_error, 1);
  }
  if (scan * pixels > kMaxScannedPixels) {
    std::snprintf(handle.message, sizeof(handle.message),
                  "%d scans of %lld pixels are more than %lld pixels in all; save it as a baseline "
                  "JPEG (jpegtran)",
                  scan, static_cast<long long>(pixels), static_cast<long long>(kMaxScannedPixels));
    std::longjmp(handle.on_error, 1);
  }
}

/// That libjpeg will keep: of a file of one scan none.
std::int64_t LibjpegDecoder::Handle::coefficient_bytes() {
  if (jpeg_has_multiple_scans(&decoder) == FALSE) return 0;
  std::int64_t blocks = 0;
  for (int i = 0; i < decoder.num_components; ++i) {
    const jpeg_component_info& component = decoder.comp_info[i];
    blocks += std::int64_t{component.width_in_blocks} * component.height_in_blocks;
  }
  return blocks * DCTSIZE2 * static_cast<std::int64_t>(sizeof(JCOEF));
}

LibjpegDecoder::Handle::Handle() {
  decoder.err = jpeg_std_error(&errors);
  errors.error_exit = jump_out;
  errors.emit_message = on_message;
  progress.progress_monitor = on_progress;
  decoder.client_data = this;
}

void LibjpegDecoder::Handle::fail() {
  jpeg_abort_decompress(&decoder);
  throw base::DataError(fmt::format("damaged JPEG: {}", message));
}

bool LibjpegDecoder::Handle::try_open(std::span<const std::uint8_t> bytes) {
  if (setjmp(on_error) != 0) return false;
  // A new one, because it would take tables that this file lacks from the file before.
  jpeg_destroy_decompress(&decoder);
  jpeg_create_decompress(&decoder);
  decoder.progress = &progress;
  jpeg_mem_src(&decoder, bytes.data(), bytes.size());
  jpeg_read_header(&decoder, TRUE);
  return true;
}

bool LibjpegDecoder::Handle::try_start(Box* region) {
  if (setjmp(on_error) != 0) return false;
  decoder.out_color_space = decoder.num_components == 4 ? JCS_CMYK : JCS_RGB;
  decoder.dct_method = JDCT_ISLOW;
  decoder.do_fancy_upsampling = TRUE;
  jpeg_start_decompress(&decoder);
  // Smooth upsampling looks at the neighbouring chroma sample, and libjpeg takes the edge of what
  // it decodes for the edge of the image, so that the outermost two pixels may differ.
  const JDIMENSION wanted_first = static_cast<JDIMENSION>(std::max(0, region->left - 2));
  const JDIMENSION wanted_end =
      std::min(decoder.output_width, static_cast<JDIMENSION>(region->right()) + 2);
  JDIMENSION first = wanted_first;
  JDIMENSION columns = wanted_end - wanted_first;
  if (columns < decoder.output_width) jpeg_crop_scanline(&decoder, &first, &columns);
  region->left = static_cast<int>(first);
  region->width = static_cast<int>(columns);
  return true;
}

bool LibjpegDecoder::Handle::try_read(const Box& region, std::uint8_t* target) {
  if (setjmp(on_error) != 0) return false;
  if (region.top > 0) jpeg_skip_scanlines(&decoder, static_cast<JDIMENSION>(region.top));
  const std::ptrdiff_t stride = std::ptrdiff_t{3} * region.width;
  const std::ptrdiff_t size = stride * region.height;
  for (std::ptrdiff_t offset = 0; offset < size; offset += stride) {
    // A row of CMYK passes through the spare room behind the last row.
    const bool is_cmyk = decoder.num_components == 4;
    JSAMPROW row = target + (is_cmyk ? size : offset);
    jpeg_read_scanlines(&decoder, &row, 1);
    if (is_cmyk) convert_inverted_cmyk(row, target + offset, region.width);
  }
  jpeg_abort_decompress(&decoder);
  return true;
}

LibjpegDecoder::LibjpegDecoder() : handle_(std::make_unique<Handle>()) {}
LibjpegDecoder::~LibjpegDecoder() = default;
LibjpegDecoder::LibjpegDecoder(LibjpegDecoder&&) noexcept = default;
LibjpegDecoder& LibjpegDecoder::operator=(LibjpegDecoder&&) noexcept = default;

ImageSize LibjpegDecoder::open(std::span<const std::uint8_t> bytes) {
  Handle& handle = *handle_;
  if (!handle.try_open(bytes)) handle.fail();
  const int components = handle.decoder.num_components;
  if (components != 1 && components != 3 && components != 4) {
    throw base::DataError(
        fmt::format("JPEG with {} components: 1, 3 or 4 can be decoded", components));
  }
  return checked_size(handle.decoder.image_height, handle.decoder.image_width);
}

PixelView LibjpegDecoder::decode(const Box& box, PixelBuffer& buffer) {
  Handle& handle = *handle_;
  const std::int64_t bytes = handle.coefficient_bytes();
  if (bytes > kMaxCoefficientBytes) {
    throw base::DataError(
        fmt::format("a JPEG of several scans whose coefficients take {} MiB, at most {} MiB are "
                    "decoded; save it as a baseline JPEG (jpegtran), or smaller",
                    bytes >> 20, kMaxCoefficientBytes >> 20));
  }
  Box region = box;
  if (!handle.try_start(&region)) handle.fail();
  const auto width = static_cast<std::size_t>(region.width);
  std::uint8_t* target =
      buffer.reserve(3 * width * static_cast<std::size_t>(region.height) + 4 * width);
  if (!handle.try_read(region, target)) handle.fail();
  const PixelView decoded = {target, region.size(), std::ptrdiff_t{3} * region.width};
  return decoded.part({0, box.left - region.left, box.height, box.width});
}

}  // namespace paceline::data::jpeg
