#include "paceline/data/transforms/lazy_image.h"

#include "paceline/base/error.h"

#include <algorithm>
#include <cstring>
#include <variant>

namespace paceline::data {
namespace {

/// The part of a source of this size that `box` covers; empty if they do not meet.
Box covered(ImageSize size, const Box& box) {
  const int top = std::clamp(box.top, 0, size.height);
  const int left = std::clamp(box.left, 0, size.width);
  return {top, left, std::clamp(box.bottom(), top, size.height) - top,
          std::clamp(box.right(), left, size.width) - left};
}

void copy_row(const std::uint8_t* source, int count, bool flipped, std::uint8_t* target) {
  if (!flipped) {
    std::memcpy(target, source, std::size_t{3} * static_cast<std::size_t>(count));
    return;
  }
  for (std::ptrdiff_t x = 0; x < count; ++x) {
    std::memcpy(target + 3 * x, source + 3 * (count - 1 - x), 3);
  }
}

}  // namespace

void LazyImage::open(const StoredSample& sample) {
  flipped_ = false;
  is_encoded_ = sample.width == 0;
  if (is_encoded_) {
    source_size_ = decoder_.open(sample.bytes);
    box_ = whole(source_size_);
    return;
  }
  const ImageSize size = {sample.height, sample.width};
  const std::size_t expected =
      std::size_t{3} * static_cast<std::size_t>(size.height) * static_cast<std::size_t>(size.width);
  if (size.height <= 0 || sample.bytes.size() != expected) {
    throw base::DataError(fmt::format("raw image of {} x {} pixels has {} bytes instead of {}",
                                      size.width, size.height, sample.bytes.size(), expected));
  }
  hold({sample.bytes.data(), size, std::ptrdiff_t{3} * size.width}, whole(size), nullptr);
}

void LazyImage::apply(const Step& step) {
  std::visit([this](const auto& alternative) { take(alternative); }, step);
}

void LazyImage::write(const NormalizeTable& table, PixelSink sink) {
  load();
  table.write(source_, box_, flipped_, sink);
}

void LazyImage::hold(const PixelView& source, const Box& box, PixelBuffer* owner) {
  is_encoded_ = false;
  source_ = source;
  source_size_ = source.size;
  box_ = box;
  owner_ = owner;
}

/// Makes sure that there are pixels: decodes what the box covers.
void LazyImage::load() {
  if (!is_encoded_) return;
  const Box part = covered(source_size_, box_);
  PixelView pixels;
  if (part.height > 0 && part.width > 0) {
    pixels = decoder_.decode(part, decoded_);
  }
  hold(pixels, {box_.top - part.top, box_.left - part.left, box_.height, box_.width}, &decoded_);
}

/// Copies the image to a buffer of its own: no box, no flip, black filled in.
void LazyImage::copy_out() {
  load();
  PixelBuffer& buffer = free_buffer();
  const std::ptrdiff_t stride = padded_stride(box_.width);
  const std::size_t size_bytes =
      static_cast<std::size_t>(stride) * static_cast<std::size_t>(box_.height);
  std::uint8_t* target = buffer.reserve(size_bytes);
  const Box part = covered(source_size_, box_);
  if (part != box_) std::memset(target, 0, size_bytes);
  const int left = flipped_ ? box_.right() - part.right() : part.left - box_.left;
  for (int y = 0; y < part.height; ++y) {
    copy_row(source_.row(part.top + y) + std::ptrdiff_t{3} * part.left, part.width, flipped_,
             target + (part.top - box_.top + y) * stride + std::ptrdiff_t{3} * left);
  }
  flipped_ = false;
  hold({target, box_.size(), stride}, whole(box_.size()), &buffer);
}

void LazyImage::take(const CropStep& step) {
  // Outside of a crop there is black, whatever the source has there.
  const bool leaves_image = !contains(whole(size()), step.box);
  if (leaves_image && box_ != whole(source_size_)) copy_out();
  const int left = flipped_ ? box_.width - step.box.right() : step.box.left;
  box_ = {box_.top + step.box.top, box_.left + left, step.box.height, step.box.width};
}

void LazyImage::take(const ResizeStep& step) {
  if (step.size == size()) return;
  load();
  // The resizer reads a little beyond the pixels, which only our buffers allow.
  if (flipped_ || reaches_outside() || owner_ == nullptr) copy_out();
  PixelBuffer& target = free_buffer();
  const PixelView resized =
      resizer_.resize(source_.part(box_), step.size, step.interpolation, target);
  hold(resized, whole(step.size), &target);
}

/// The image as pixels that may be changed. A flip may stay pending: it does not matter to colours.
MutablePixels LazyImage::writable() {
  load();
  if (reaches_outside() || owner_ == nullptr) copy_out();
  const PixelView part = source_.part(box_);
  return {owner_->data() + (part.pixels - owner_->data()), part.size, part.stride};
}

void LazyImage::take(const BrightnessStep& step) { adjust_brightness(writable(), step.factor); }
void LazyImage::take(const ContrastStep& step) { adjust_contrast(writable(), step.factor); }
void LazyImage::take(const SaturationStep& step) { adjust_saturation(writable(), step.factor); }
void LazyImage::take(const HueStep& step) { adjust_hue(writable(), step.turn); }

}  // namespace paceline::data
