#include "paceline/data/codec/tiff_decoder.h"

#include "paceline/base/error.h"
#include "paceline/data/codec/orientation.h"
#include "paceline/data/image/limits.h"

#include <algorithm>
#include <array>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include <tiffio.h>

namespace paceline::data {
namespace {

/// A file in memory as libtiff reads it.
struct TiffMemory {
  std::span<const std::uint8_t> bytes;
  std::uint64_t at = 0;

  static TiffMemory& of(thandle_t handle) { return *static_cast<TiffMemory*>(handle); }

  static tmsize_t read(thandle_t handle, void* target, tmsize_t wanted) {
    TiffMemory& file = of(handle);
    const std::uint64_t left =
        file.bytes.size() - std::min<std::uint64_t>(file.at, file.bytes.size());
    const auto count = std::min(left, static_cast<std::uint64_t>(std::max<tmsize_t>(wanted, 0)));
    if (count > 0) std::memcpy(target, file.bytes.data() + file.at, count);
    file.at += count;
    return static_cast<tmsize_t>(count);
  }
  static tmsize_t write(thandle_t, void*, tmsize_t) { return 0; }
  static toff_t seek(thandle_t handle, toff_t offset, int whence) {
    TiffMemory& file = of(handle);
    const std::uint64_t start = whence == SEEK_CUR   ? file.at
                                : whence == SEEK_END ? file.bytes.size()
                                                     : 0;
    return file.at = start + offset;
  }
  static int close(thandle_t) { return 0; }
  static toff_t size(thandle_t handle) { return of(handle).bytes.size(); }
  static int map(thandle_t handle, void** start, toff_t* size) {
    // libtiff's interface knows no const; it was opened for reading only.
    *start = const_cast<std::uint8_t*>(of(handle).bytes.data());
    *size = of(handle).bytes.size();
    return 1;
  }
  static void unmap(thandle_t, void*, toff_t) {}
};

struct CloseTiff {
  void operator()(TIFF* tiff) const { TIFFClose(tiff); }
};

[[noreturn]] void fail_tiff(const std::string& problem) {
  throw base::DataError("damaged TIFF: " + problem);
}

[[noreturn]] void refuse_tiff(const std::string& kind) {
  throw base::DataError(fmt::format(
      "a TIFF of {}: grey, palette and RGB of 8 bits a value, and grey and RGB of 16, can be "
      "decoded; save it "
      "as PNG",
      kind));
}

/// libtiff would print its words, which the exceptions say in ours.
void stay_silent() {
  static const bool done = [] {
    TIFFSetErrorHandler(nullptr);
    TIFFSetWarningHandler(nullptr);
    return true;
  }();
  static_cast<void>(done);
}

/// The first picture of a file.
class TiffPicture {
 public:
  explicit TiffPicture(std::span<const std::uint8_t> bytes) : memory_{bytes} {
    stay_silent();
    // "m": libtiff may not map, which is faster for single strips but leaves checks to it.
    tiff_.reset(TIFFClientOpen("tiff", "rm", &memory_, TiffMemory::read, TiffMemory::write,
                               TiffMemory::seek, TiffMemory::close, TiffMemory::size,
                               TiffMemory::map, TiffMemory::unmap));
    if (!tiff_) fail_tiff("its header cannot be read");
    std::uint32_t width = 0;
    std::uint32_t height = 0;
    TIFFGetField(tiff_.get(), TIFFTAG_IMAGEWIDTH, &width);
    TIFFGetField(tiff_.get(), TIFFTAG_IMAGELENGTH, &height);
    size_ = checked_size(height, width);
    orientation_ = Orientation(number(TIFFTAG_ORIENTATION, ORIENTATION_TOPLEFT));
  }

  /// As it is meant to be seen.
  ImageSize size() const { return orientation_.turned(size_); }

  /// Writes greys with all their bits, of which 65535 is white.
  void decode_gray(std::uint16_t* target) {
    check_kind();
    const bool is_gray =
        photometric_ == PHOTOMETRIC_MINISBLACK || photometric_ == PHOTOMETRIC_MINISWHITE;
    if (!is_gray || samples_ != 1)
      throw base::DataError("a TIFF with colours or transparency, expected greys; save it without");
    if (!orientation_.is_upright())
      throw base::DataError("a TIFF that is to be turned when shown; save it upright, as PNG");
    for_pixels([&](const std::uint8_t* from, std::ptrdiff_t count, std::uint16_t, std::size_t at) {
      for (std::ptrdiff_t x = 0; x < count; ++x, from += value_bytes_)
        target[at + static_cast<std::size_t>(x)] = whole_gray(from);
    });
  }

  /// Writes RGB triples.
  void decode(std::uint8_t* target) {
    if (orientation_.is_upright()) return decode_as_stored(target);
    const auto count =
        static_cast<std::size_t>(size_.width) * static_cast<std::size_t>(size_.height);
    std::vector<std::uint8_t> stored(3 * count);
    decode_as_stored(stored.data());
    orientation_.turn({stored.data(), size_, std::ptrdiff_t{3} * size_.width}, target,
                      std::ptrdiff_t{3} * size().width);
  }

 private:
  void decode_as_stored(std::uint8_t* target) {
    check_kind();
    if (compression_ == COMPRESSION_JPEG)
      TIFFSetField(tiff_.get(), TIFFTAG_JPEGCOLORMODE, JPEGCOLORMODE_RGB);
    for_pixels([&](const std::uint8_t* from, std::ptrdiff_t count, std::uint16_t plane,
                   std::size_t at) { put(from, count, plane, target + 3 * at); });
  }

  /// Calls `use` with values as they are stored: how many pixels, of which plane, and the number of
  /// the first in the picture.
  template <class Use>
  void for_pixels(const Use& use) {
    if (TIFFIsTiled(tiff_.get()) != 0) {
      read_tiles(use);
    } else {
      read_strips(use);
    }
  }

  std::uint16_t number(std::uint32_t tag, std::uint16_t otherwise) const {
    std::uint16_t value = otherwise;
    TIFFGetFieldDefaulted(tiff_.get(), tag, &value);
    return value;
  }

  void check_kind() {
    const std::uint16_t bits = number(TIFFTAG_BITSPERSAMPLE, 1);
    samples_ = number(TIFFTAG_SAMPLESPERPIXEL, 1);
    photometric_ = number(TIFFTAG_PHOTOMETRIC, PHOTOMETRIC_MINISBLACK);
    compression_ = number(TIFFTAG_COMPRESSION, COMPRESSION_NONE);
    is_planar_ = number(TIFFTAG_PLANARCONFIG, PLANARCONFIG_CONTIG) == PLANARCONFIG_SEPARATE;
    value_bytes_ = bits / 8;
    const bool is_plain_gray = photometric_ == PHOTOMETRIC_MINISBLACK && samples_ == 1;
    const bool is_wide =
        bits == 16 && (photometric_ == PHOTOMETRIC_RGB || is_plain_gray) && !is_planar_;
    if ((bits != 8 && !is_wide) ||
        number(TIFFTAG_SAMPLEFORMAT, SAMPLEFORMAT_UINT) != SAMPLEFORMAT_UINT)
      refuse_tiff(fmt::format("{} bits a value", bits));
    if (TIFFIsCODECConfigured(compression_) == 0)
      refuse_tiff(fmt::format("compression {}", compression_));
    const bool is_jpeg = compression_ == COMPRESSION_JPEG;
    const bool is_rgb =
        photometric_ == PHOTOMETRIC_RGB || (photometric_ == PHOTOMETRIC_YCBCR && is_jpeg);
    const bool is_gray =
        photometric_ == PHOTOMETRIC_MINISBLACK || photometric_ == PHOTOMETRIC_MINISWHITE;
    if (photometric_ == PHOTOMETRIC_PALETTE && samples_ == 1) return read_palette();
    if (!(is_rgb && (samples_ == 3 || samples_ == 4)) && !(is_gray && samples_ <= 2))
      refuse_tiff(fmt::format("{} values a pixel and colours {}", samples_, photometric_));
    check_alpha(is_rgb ? 3 : 1);
  }

  void check_alpha(int colors) {
    std::uint16_t count = 0;
    std::uint16_t* kinds = nullptr;
    TIFFGetFieldDefaulted(tiff_.get(), TIFFTAG_EXTRASAMPLES, &count, &kinds);
    is_premultiplied_ = samples_ > colors && count > 0 && kinds[0] == EXTRASAMPLE_ASSOCALPHA;
    if (is_premultiplied_ && (colors != 3 || value_bytes_ != 1 || is_planar_))
      refuse_tiff("greys, planes or 16 bits multiplied by alpha");
  }

  void read_palette() {
    std::uint16_t* colors[3] = {};
    if (TIFFGetField(tiff_.get(), TIFFTAG_COLORMAP, &colors[0], &colors[1], &colors[2]) != 1)
      fail_tiff("its palette is missing");
    for (std::size_t i = 0; i < 256; ++i) {
      for (std::size_t channel = 0; channel < 3; ++channel)
        palette_[i][channel] = static_cast<std::uint8_t>(colors[channel][i] >> 8);
    }
  }

  /// Writes `count` pixels of a row; those of planes are values of plane `plane` alone.
  void put(const std::uint8_t* from, std::ptrdiff_t count, std::uint16_t plane,
           std::uint8_t* to) const {
    const bool is_rgb = photometric_ == PHOTOMETRIC_RGB || photometric_ == PHOTOMETRIC_YCBCR;
    if (is_rgb && is_planar_) {
      for (std::ptrdiff_t x = 0; x < count; ++x) to[3 * x + plane] = from[x];
      return;
    }
    const std::ptrdiff_t step = is_planar_ ? 1 : samples_ * value_bytes_;
    for (std::ptrdiff_t x = 0; x < count; ++x, from += step, to += 3) {
      if (is_rgb) {
        for (std::ptrdiff_t i = 0; i < 3; ++i) to[i] = color(from, i);
      } else if (photometric_ == PHOTOMETRIC_PALETTE) {
        std::memcpy(to, palette_[*from].data(), 3);
      } else {
        std::memset(to, gray(from), 3);
      }
    }
  }

  /// Of 16 bits Pillow clips it, as it does that of PNG.
  int gray(const std::uint8_t* pixel) const {
    if (value_bytes_ == 2) return pixel[1] > 0 ? 255 : pixel[0];
    return photometric_ == PHOTOMETRIC_MINISWHITE ? 255 - *pixel : *pixel;
  }

  /// Of 16 bits in this machine's order, or 8, which are spread over them.
  std::uint16_t whole_gray(const std::uint8_t* pixel) const {
    constexpr std::uint16_t kSpread = 65535 / 255;
    std::uint16_t value = 0;
    if (value_bytes_ == 1) return static_cast<std::uint16_t>(gray(pixel) * kSpread);
    std::memcpy(&value, pixel, sizeof value);
    return value;
  }

  /// Of 16 bits, which libtiff gives in this machine's order, the upper 8.
  std::uint8_t color(const std::uint8_t* pixel, std::ptrdiff_t channel) const {
    if (value_bytes_ == 2) return pixel[2 * channel + 1];
    if (!is_premultiplied_ || pixel[3] == 255) return pixel[channel];
    if (pixel[3] == 0) return 0;
    return static_cast<std::uint8_t>(std::min(255, 255 * pixel[channel] / pixel[3]));
  }

  /// Planes with colours; alpha is none.
  std::uint16_t num_planes() const {
    if (!is_planar_) return 1;
    return samples_ >= 3 ? 3 : 1;
  }

  template <class Use>
  void read_strips(const Use& use) {
    TIFF* const tiff = tiff_.get();
    const auto row_bytes = static_cast<std::size_t>(TIFFScanlineSize64(tiff));
    const std::size_t needed =
        static_cast<std::size_t>(size_.width) * (is_planar_ ? 1 : samples_ * value_bytes_);
    if (row_bytes < needed) fail_tiff("its rows are too short");
    std::vector<std::uint8_t> row(row_bytes);
    for (std::uint16_t plane = 0; plane < num_planes(); ++plane) {
      for (int y = 0; y < size_.height; ++y) {
        if (TIFFReadScanline(tiff, row.data(), static_cast<std::uint32_t>(y), plane) != 1)
          fail_tiff(fmt::format("its pixels are damaged or end early, in row {}", y));
        use(row.data(), size_.width, plane,
            static_cast<std::size_t>(size_.width) * static_cast<std::size_t>(y));
      }
    }
  }

  template <class Use>
  void read_tiles(const Use& use) {
    TIFF* const tiff = tiff_.get();
    std::uint32_t width = 0;
    std::uint32_t height = 0;
    TIFFGetField(tiff, TIFFTAG_TILEWIDTH, &width);
    TIFFGetField(tiff, TIFFTAG_TILELENGTH, &height);
    checked_size(height, width);
    const auto bytes = static_cast<std::size_t>(TIFFTileSize64(tiff));
    const std::size_t row_bytes = std::size_t{width} * (is_planar_ ? 1 : samples_ * value_bytes_);
    if (bytes < row_bytes * height) fail_tiff("its tiles are too small");
    std::vector<std::uint8_t> tile(bytes);
    const auto all_rows = static_cast<std::uint32_t>(size_.height);
    const auto all_columns = static_cast<std::uint32_t>(size_.width);
    for (std::uint16_t plane = 0; plane < num_planes(); ++plane) {
      for (std::uint32_t top = 0; top < all_rows; top += height) {
        for (std::uint32_t left = 0; left < all_columns; left += width) {
          if (TIFFReadTile(tiff, tile.data(), left, top, 0, plane) < 0)
            fail_tiff(fmt::format("its pixels are damaged or end early, in row {}", top));
          for (std::uint32_t y = 0; y < std::min(height, all_rows - top); ++y) {
            use(tile.data() + y * row_bytes, std::min(width, all_columns - left), plane,
                std::size_t{top + y} * all_columns + left);
          }
        }
      }
    }
  }

  TiffMemory memory_;
  std::unique_ptr<TIFF, CloseTiff> tiff_;
  ImageSize size_;
  std::uint16_t samples_ = 1;
  std::uint16_t photometric_ = PHOTOMETRIC_MINISBLACK;
  std::uint16_t compression_ = COMPRESSION_NONE;
  Orientation orientation_;  ///< TIFF numbers them as EXIF does
  std::uint16_t value_bytes_ = 1;
  bool is_planar_ = false;
  bool is_premultiplied_ = false;
  std::array<std::array<std::uint8_t, 3>, 256> palette_{};
};

}  // namespace

ImageSize read_tiff_size(std::span<const std::uint8_t> bytes) { return TiffPicture(bytes).size(); }

GrayImage decode_gray_tiff(std::span<const std::uint8_t> bytes) {
  TiffPicture picture(bytes);
  GrayImage image{.size = picture.size()};
  image.values.resize(static_cast<std::size_t>(image.size.height) *
                      static_cast<std::size_t>(image.size.width));
  picture.decode_gray(image.values.data());
  return image;
}

PixelView decode_tiff(std::span<const std::uint8_t> bytes, PixelBuffer& buffer) {
  TiffPicture picture(bytes);
  const ImageSize size = picture.size();
  const std::ptrdiff_t stride = std::ptrdiff_t{3} * size.width;
  std::uint8_t* const target =
      buffer.reserve(static_cast<std::size_t>(stride) * static_cast<std::size_t>(size.height));
  picture.decode(target);
  return {target, size, stride};
}

}  // namespace paceline::data
