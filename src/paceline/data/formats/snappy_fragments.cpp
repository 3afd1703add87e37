#include "paceline/data/formats/snappy_fragments.h"

namespace paceline::data {
namespace {

constexpr std::uint32_t kFragment = 65536;

/// Goes through the elements of Snappy's format: literals and copies of what came before.
class ElementWalk {
 public:
  explicit ElementWalk(std::span<const std::uint8_t> bytes) : bytes_(bytes) {}

  std::size_t position() const { return position_; }
  bool is_at_end() const { return position_ == bytes_.size(); }

  /// The size of the content, which stands first. False if it is damaged.
  bool read_size(std::uint64_t& size) {
    size = 0;
    for (int shift = 0; shift < 35 && position_ < bytes_.size(); shift += 7) {
      const std::uint8_t byte = bytes_[position_++];
      size |= std::uint64_t{byte & 0x7Fu} << shift;
      if (byte < 0x80) return true;
    }
    return false;
  }

  /// Passes over one element; gives what it adds to the content and how far it reaches back, 0 of a
  /// literal. False if it is damaged.
  bool next(std::uint64_t& length, std::uint64_t& distance) {
    const std::uint8_t tag = bytes_[position_++];
    distance = 0;
    std::uint64_t number = 0;
    switch (tag & 3) {
      case 0:
        length = (tag >> 2) + 1u;
        if (length > 60) {
          if (!read_number(length - 60, number)) return false;
          length = number + 1;
        }
        if (length > bytes_.size() - position_) return false;
        position_ += length;
        return true;
      case 1:
        length = ((tag >> 2) & 7u) + 4;
        if (!read_number(1, number)) return false;
        distance = (std::uint64_t{tag} >> 5) << 8 | number;
        return distance > 0;
      default:
        length = (tag >> 2) + 1u;
        if (!read_number((tag & 3) == 2 ? 2 : 4, distance)) return false;
        return distance > 0;
    }
  }

 private:
  bool read_number(std::uint64_t num_bytes, std::uint64_t& number) {
    if (num_bytes > bytes_.size() - position_) return false;
    number = 0;
    for (std::uint64_t i = 0; i < num_bytes; ++i)
      number |= std::uint64_t{bytes_[position_++]} << (8 * i);
    return true;
  }

  std::span<const std::uint8_t> bytes_;
  std::size_t position_ = 0;
};

}  // namespace

std::optional<std::vector<std::uint32_t>> list_snappy_fragments(
    std::span<const std::uint8_t> compressed, std::uint32_t content_size) {
  ElementWalk walk(compressed);
  std::uint64_t size = 0;
  if (!walk.read_size(size) || size != content_size) return std::nullopt;
  std::vector<std::uint32_t> begins;
  std::uint64_t done = 0;
  while (!walk.is_at_end()) {
    const std::uint64_t in_fragment = done % kFragment;
    if (in_fragment == 0) begins.push_back(static_cast<std::uint32_t>(walk.position()));
    std::uint64_t length = 0;
    std::uint64_t distance = 0;
    if (!walk.next(length, distance) || distance > in_fragment || length > kFragment - in_fragment)
      return std::nullopt;
    done += length;
  }
  if (done != size) return std::nullopt;
  begins.push_back(static_cast<std::uint32_t>(compressed.size()));
  return begins;
}

std::size_t write_snappy_size(std::uint32_t content_size, std::uint8_t* target) {
  std::size_t length = 0;
  for (; content_size >= 0x80; content_size >>= 7)
    target[length++] = static_cast<std::uint8_t>(content_size | 0x80);
  target[length++] = static_cast<std::uint8_t>(content_size);
  return length;
}

}  // namespace paceline::data
