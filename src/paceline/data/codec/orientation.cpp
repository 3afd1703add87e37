#include "paceline/data/codec/orientation.h"

#include "paceline/data/codec/image_format.h"
#include "paceline/data/codec/jpeg/indexed_file.h"

#include <algorithm>
#include <optional>
#include <string_view>

namespace paceline::data {
namespace {

using Bytes = std::span<const std::uint8_t>;

bool starts_with(Bytes bytes, std::string_view text) {
  return bytes.size() >= text.size() && std::ranges::equal(bytes.first(text.size()), text);
}

/// A number of `count` bytes, which must be there.
std::uint32_t number(Bytes bytes, std::size_t at, std::size_t count, bool is_little_endian) {
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < count; ++i)
    value = value << 8 | bytes[at + (is_little_endian ? count - 1 - i : i)];
  return value;
}

/// What a file says of itself, as far as it is found.
struct Found {
  std::optional<Orientation> exif;
  std::optional<Orientation> xmp;
};

/// The tag of a TIFF header and its first directory, which EXIF is.
std::optional<Orientation> read_exif(Bytes exif) {
  constexpr std::string_view kPrefix("Exif\0\0", 6);
  constexpr std::uint32_t kTag = 0x0112;
  constexpr std::uint32_t kShort = 3;
  constexpr std::uint32_t kLong = 4;
  constexpr std::size_t kEntryBytes = 12;
  while (starts_with(exif, kPrefix)) exif = exif.subspan(kPrefix.size());
  const bool is_little = starts_with(exif, std::string_view("II*\0", 4));
  if (!is_little && !starts_with(exif, std::string_view("MM\0*", 4))) return std::nullopt;
  if (exif.size() < 8) return std::nullopt;
  const std::size_t directory = number(exif, 4, 4, is_little);
  if (directory + 2 > exif.size()) return std::nullopt;
  const std::size_t count = number(exif, directory, 2, is_little);
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t at = directory + 2 + kEntryBytes * i;
    if (at + kEntryBytes > exif.size()) return std::nullopt;
    if (number(exif, at, 2, is_little) != kTag) continue;
    const std::uint32_t type = number(exif, at + 2, 2, is_little);
    const bool is_one = number(exif, at + 4, 4, is_little) == 1;
    if (!is_one || (type != kShort && type != kLong)) return Orientation();
    return Orientation(number(exif, at + 8, type == kShort ? 2 : 4, is_little));
  }
  return std::nullopt;
}

/// The first `tiff:Orientation="6"` or `<tiff:Orientation>6<` of a text.
std::optional<Orientation> read_xmp(Bytes xmp) {
  const std::string_view text(reinterpret_cast<const char*>(xmp.data()), xmp.size());
  constexpr std::string_view kName = "tiff:Orientation";
  for (std::size_t at = text.find(kName); at != text.npos; at = text.find(kName, at + 1)) {
    std::string_view rest = text.substr(at + kName.size());
    if (rest.starts_with("=\"")) {
      rest.remove_prefix(2);
    } else if (rest.starts_with(">")) {
      rest.remove_prefix(1);
    } else {
      continue;
    }
    if (!rest.empty() && rest[0] >= '0' && rest[0] <= '9')
      return Orientation(static_cast<std::uint32_t>(rest[0] - '0'));
  }
  return std::nullopt;
}

/// ITU-T T.81, annex B: segments up to that of the first scan.
Found search_jpeg(Bytes file) {
  constexpr std::uint8_t kScan = 0xDA;
  constexpr std::uint8_t kApplication1 = 0xE1;
  constexpr std::string_view kXmp("http://ns.adobe.com/xap/1.0/\0", 29);
  Found found;
  std::size_t at = 2;  // behind start-of-image
  while (at + 4 <= file.size() && file[at] == 0xFF && file[at + 1] != kScan) {
    if (file[at + 1] == 0xFF) {  // filling
      ++at;
      continue;
    }
    const std::size_t length = number(file, at + 2, 2, false);
    if (length < 2 || at + 2 + length > file.size()) break;
    const Bytes body = file.subspan(at + 4, length - 2);
    if (file[at + 1] == kApplication1) {
      if (!found.exif && starts_with(body, "Exif")) found.exif = read_exif(body);
      if (starts_with(body, kXmp)) found.xmp = read_xmp(body.subspan(kXmp.size()));
    }
    at += 2 + length;
  }
  return found;
}

/// The PNG Specification, third edition: chunks, of which eXIf may stand before or behind pixels.
Found search_png(Bytes file) {
  constexpr std::size_t kAroundData = 12;                        // length, name and checksum
  constexpr std::string_view kXmp("XML:com.adobe.xmp\0\0", 19);  // which is not compressed
  Found found;
  for (std::size_t at = 8; at + kAroundData <= file.size();) {
    const std::size_t length = number(file, at, 4, false);
    if (at + kAroundData + length > file.size()) break;
    const Bytes body = file.subspan(at + 8, length);
    if (starts_with(file.subspan(at + 4), "eXIf")) found.exif = read_exif(body);
    if (starts_with(file.subspan(at + 4), "iTXt") && starts_with(body, kXmp))
      found.xmp = read_xmp(body.subspan(kXmp.size()));
    at += kAroundData + length;
  }
  return found;
}

/// WebP's container: RIFF's chunks, padded to even lengths.
Found search_webp(Bytes file) {
  Found found;
  for (std::size_t at = 12; at + 8 <= file.size();) {
    const std::size_t length = number(file, at + 4, 4, true);
    if (at + 8 + length > file.size()) break;
    const Bytes body = file.subspan(at + 8, length);
    if (starts_with(file.subspan(at), "EXIF")) found.exif = read_exif(body);
    if (starts_with(file.subspan(at), "XMP ")) found.xmp = read_xmp(body);
    at += 8 + length + length % 2;
  }
  return found;
}

Found search(Bytes file) {
  switch (detect_format(file)) {
    case ImageFormat::kJpeg:
      return search_jpeg(file);
    case ImageFormat::kPng:
      return search_png(file);
    case ImageFormat::kWebp:
      return search_webp(file);
    default:
      return {};
  }
}

}  // namespace

Box Orientation::stored_box(const Box& turned, ImageSize stored) const {
  Box box = swaps_axes() ? Box{turned.left, turned.top, turned.width, turned.height} : turned;
  if (begins_at_bottom()) box.top = stored.height - box.bottom();
  if (begins_at_right()) box.left = stored.width - box.right();
  return box;
}

void Orientation::turn(const PixelView& stored, std::uint8_t* target, std::ptrdiff_t stride) const {
  const std::ptrdiff_t down = begins_at_bottom() ? -stored.stride : stored.stride;
  const std::ptrdiff_t right = begins_at_right() ? -3 : 3;
  const std::uint8_t* const first =
      stored.row(begins_at_bottom() ? stored.size.height - 1 : 0) +
      (begins_at_right() ? std::ptrdiff_t{3} * (stored.size.width - 1) : 0);
  const auto [height, width] = turned(stored.size);
  const std::ptrdiff_t row_step = swaps_axes() ? right : down;
  const std::ptrdiff_t column_step = swaps_axes() ? down : right;
  for (std::ptrdiff_t y = 0; y < height; ++y) {
    const std::uint8_t* source = first + y * row_step;
    std::uint8_t* row = target + y * stride;
    for (std::ptrdiff_t x = 0; x < width; ++x, source += column_step)
      std::copy_n(source, 3, row + 3 * x);
  }
}

Orientation read_orientation(std::span<const std::uint8_t> file) {
  const Found found = search(jpeg::without_index(file));
  return found.exif ? *found.exif : found.xmp.value_or(Orientation());
}

}  // namespace paceline::data
