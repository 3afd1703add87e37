#pragma once

#include "paceline/config/type_info.h"
#include "paceline/data/image/pixels.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace paceline::data {

/// What follows from how the camera was held, which a file may say: nothing, or the pixels are
/// turned upright.
enum class ExifRule { kIgnore, kApply };

/// How stored pixels become upright ones: EXIF's tag 0x0112, from 1, as they are, to 8.
class Orientation {
 public:
  static constexpr int kUpright = 1;

  Orientation() = default;
  /// Numbers that mean nothing are as upright.
  explicit Orientation(std::uint32_t tag)
      : tag_(tag >= 1 && tag <= 8 ? static_cast<int>(tag) : kUpright) {}

  bool is_upright() const { return tag_ == kUpright; }
  /// Whether rows become columns.
  bool swaps_axes() const { return tag_ >= 5; }
  /// The size of the turned image.
  ImageSize turned(ImageSize stored) const {
    return swaps_axes() ? ImageSize{stored.width, stored.height} : stored;
  }
  /// The stored pixels that a box of the turned image is made of.
  Box stored_box(const Box& turned, ImageSize stored) const;
  /// Writes the turned image, whose rows begin `stride` bytes apart.
  void turn(const PixelView& stored, std::uint8_t* target, std::ptrdiff_t stride) const;

  friend bool operator==(const Orientation&, const Orientation&) = default;

 private:
  // Of the stored image, before axes are swapped.
  bool begins_at_bottom() const { return tag_ == 3 || tag_ == 4 || tag_ == 6 || tag_ == 7; }
  bool begins_at_right() const { return tag_ == 2 || tag_ == 3 || tag_ == 7 || tag_ == 8; }

  int tag_ = kUpright;
};

/// What the file of an image says as Pillow's ImageOps.exif_transpose reads it: EXIF of JPEG, PNG
/// (eXIf) and WebP, or without it their XMP. Upright for other formats (TIFF is always decoded as
/// its orientation says) and where the file says nothing or is damaged.
Orientation read_orientation(std::span<const std::uint8_t> file);

}  // namespace paceline::data

template <>
struct paceline::config::EnumNames<paceline::data::ExifRule> {
  static constexpr std::array names{EnumName{data::ExifRule::kIgnore, "ignore"},
                                    EnumName{data::ExifRule::kApply, "apply"}};
};
