#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>

namespace paceline::data {

struct ImageSize {
  int height = 0;
  int width = 0;
  friend bool operator==(const ImageSize&, const ImageSize&) = default;
};

/// A rectangle of an image, in pixels from its top left corner.
struct Box {
  int top = 0;
  int left = 0;
  int height = 0;
  int width = 0;

  int bottom() const { return top + height; }
  int right() const { return left + width; }
  ImageSize size() const { return {height, width}; }
  friend bool operator==(const Box&, const Box&) = default;
};

inline Box whole(ImageSize size) { return {0, 0, size.height, size.width}; }

inline bool contains(const Box& outer, const Box& inner) {
  return inner.top >= outer.top && inner.left >= outer.left && inner.bottom() <= outer.bottom() &&
         inner.right() <= outer.right();
}

/// 8-bit RGB pixels that someone else owns; rows lie `stride` bytes apart.
struct PixelView {
  const std::uint8_t* pixels = nullptr;
  ImageSize size;
  std::ptrdiff_t stride = 0;

  const std::uint8_t* row(int y) const { return pixels + y * stride; }
  /// The part of this view inside `box`, which must lie within it.
  PixelView part(const Box& box) const {
    return {row(box.top) + std::ptrdiff_t{3} * box.left, box.size(), stride};
  }
};

/// Memory for pixels that grows as needed, so that one that is reused stops allocating; give_back()
/// keeps a rare giant from staying for good. It is aligned for SIMD and kPadding bytes beyond the
/// last requested one may be read and written.
class PixelBuffer {
 public:
  static constexpr std::size_t kPadding = 64;
  static constexpr std::size_t kMostKept = std::size_t{32} << 20;  ///< ten million pixels

  std::uint8_t* reserve(std::size_t size_bytes) {
    if (size_bytes > capacity_) {
      const std::size_t rounded = (size_bytes + 2 * kPadding - 1) / kPadding * kPadding;
      bytes_.reset(static_cast<std::uint8_t*>(std::aligned_alloc(kPadding, rounded)));
      if (!bytes_) {
        capacity_ = 0;
        throw std::bad_alloc();
      }
      capacity_ = size_bytes;
    }
    return bytes_.get();
  }
  std::uint8_t* data() { return bytes_.get(); }
  std::size_t capacity() const { return capacity_; }

  /// Lets go of more than kMostKept bytes; between images, whose pixels are lost.
  void give_back() {
    if (capacity_ <= kMostKept) return;
    bytes_.reset();
    capacity_ = 0;
  }

 private:
  struct Free {
    void operator()(std::uint8_t* bytes) const { std::free(bytes); }
  };
  std::unique_ptr<std::uint8_t[], Free> bytes_;
  std::size_t capacity_ = 0;
};

/// Bytes from row to row in buffers that vector code writes: it stores whole vectors.
constexpr std::ptrdiff_t padded_stride(int width) {
  return (std::ptrdiff_t{3} * width + 16 + 63) / 64 * 64;
}

}  // namespace paceline::data
