#include "paceline/data/transforms/lazy_image.h"

#include "paceline/base/clock.h"
#include "paceline/base/error.h"
#include "paceline/data/image/limits.h"
#include "paceline/data/transforms/affine.h"
#include "paceline/data/transforms/kernels/color.h"
#include "paceline/data/transforms/kernels/image_statistics.h"
#include "paceline/data/transforms/kernels/mirror.h"
#include "paceline/data/transforms/kernels/sharpness.h"
#include "paceline/data/transforms/warp.h"

#include <algorithm>
#include <cstring>
#include <utility>
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
  if (flipped) return copy_mirrored(source, count, target);
  std::memcpy(target, source, std::size_t{3} * static_cast<std::size_t>(count));
}

/// Room for an image of this size with padded rows; its old content is lost.
PixelView room_for(ImageSize size, PixelBuffer& buffer) {
  const std::ptrdiff_t stride = padded_stride(size.width);
  std::uint8_t* pixels =
      buffer.reserve(static_cast<std::size_t>(stride) * static_cast<std::size_t>(size.height));
  return {pixels, size, stride};
}

}  // namespace

void LazyImage::open(const StoredSample& sample, ExifRule exif) {
  flipped_ = false;
  resize_.reset();
  tables_.reset();
  erased_.clear();
  for (PixelBuffer* buffer : {&decoded_, &work_[0], &work_[1], &mixed_from_}) buffer->give_back();
  resizer_.give_back();
  blur_.give_back();
  box_blur_.give_back();
  displacement_.give_back();
  mixture_.give_back();
  is_encoded_ = sample.width == 0;
  if (is_encoded_) {
    const double start = base::SystemClock().monotonic_s();
    source_size_ = decoder_.open(sample.bytes, exif);
    decode_seconds_ += base::SystemClock().monotonic_s() - start;
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
  PACELINE_CHECK(erased_.empty() || std::holds_alternative<EraseStep>(step),
                 "a step follows the erasing of boxes, which comes last");
  std::visit([this](const auto& alternative) { take(alternative); }, step);
}

void LazyImage::finish() {
  apply_gathered();
  load();
}

void LazyImage::write(const NormalizeTable& table, PixelSink sink) {
  finish();
  table.write(source_, box_, flipped_, sink);
  for (const EraseStep& step : erased_) fill_box(sink, size(), step);
}

EraseSteps LazyImage::write(ByteSink sink) {
  finish();
  write_rows(sink.pixels, std::ptrdiff_t{3} * box_.width);
  return erased_;
}

void LazyImage::hold(const PixelView& source, const Box& box, PixelBuffer* owner) {
  is_encoded_ = false;
  source_ = source;
  source_size_ = source.size;
  box_ = box;
  owner_ = owner;
}

/// Makes sure that there are pixels: decodes and resizes what the box covers.
void LazyImage::load() {
  if (!is_encoded_ && !resize_) return;
  const Box part = covered(source_size_, box_);
  const Box rest = {box_.top - part.top, box_.left - part.left, box_.height, box_.width};
  if (part.height == 0 || part.width == 0) {
    resize_.reset();
    return hold({}, rest, &decoded_);
  }
  if (!resize_) return hold(decode(part), rest, &decoded_);
  box_ = part;
  load_resized();
  box_ = rest;
}

PixelView LazyImage::decode(const Box& box) {
  const double start = base::SystemClock().monotonic_s();
  const PixelView pixels = decoder_.decode(box, decoded_);
  decode_seconds_ += base::SystemClock().monotonic_s() - start;
  return pixels;
}

/// Makes the pixels of the box, which lies within the resized image, of those of the file or of the
/// source that they follow from.
void LazyImage::load_resized() {
  const auto [from, interpolation] = *std::exchange(resize_, std::nullopt);
  const ImageSize size = source_size_;
  const bool flipped = std::exchange(flipped_, false);  // which came behind the resize
  if (std::int64_t{box_.height} * box_.width > kMaxPixels) {
    throw base::DataError(fmt::format(
        "{} x {} pixels would become {} x {}, of which {} x {} are "
        "wanted: at most {} pixels can be made; leave the image out",
        from.width, from.height, size.width, size.height, box_.width, box_.height, kMaxPixels));
  }
  Box needed = resizer_.prepare({from.size(), size, box_, interpolation});
  needed.top += from.top;
  needed.left += from.left;
  if (is_encoded_) {
    hold(decode(needed), whole(needed.size()), &decoded_);
  } else {
    hold(source_, needed, owner_);
    // Vector code reads a little beyond the pixels, which only our buffers allow.
    if (owner_ == nullptr) copy_out();
  }
  PixelBuffer& target = free_buffer();
  const PixelView resized = resizer_.resize_prepared(source_.part(box_), target);
  hold(resized, whole(resized.size), &target);
  flipped_ = flipped;
}

/// Writes the box, mirrored if it is flipped, with black outside the source.
void LazyImage::write_rows(std::uint8_t* target, std::ptrdiff_t stride) const {
  const Box part = covered(source_size_, box_);
  if (part != box_) {
    std::memset(target, 0,
                static_cast<std::size_t>(stride) * static_cast<std::size_t>(box_.height));
  }
  const int left = flipped_ ? box_.right() - part.right() : part.left - box_.left;
  for (int y = 0; y < part.height; ++y) {
    copy_row(source_.row(part.top + y) + std::ptrdiff_t{3} * part.left, part.width, flipped_,
             target + (part.top - box_.top + y) * stride + std::ptrdiff_t{3} * left);
  }
}

/// Copies the image to a buffer of its own: no box, no flip, black filled in.
void LazyImage::copy_out() {
  load();
  PixelBuffer& buffer = free_buffer();
  const PixelView copy = room_for(size(), buffer);
  write_rows(buffer.data(), copy.stride);
  flipped_ = false;
  hold(copy, whole(copy.size), &buffer);
}

/// The tables to append an operation to.
PointTables& LazyImage::tables() {
  if (!tables_) tables_ = identity_tables();
  return *tables_;
}

/// Makes the image what operation(source, target, stride) writes, which has this size.
template <class Operation>
void LazyImage::replace(const PixelView& source, ImageSize size, Operation operation) {
  PixelBuffer& buffer = free_buffer();
  const PixelView result = room_for(size, buffer);
  operation(source, buffer.data(), result.stride);
  hold(result, whole(result.size), &buffer);
}

/// Applies the operations gathered in tables_.
void LazyImage::apply_gathered() {
  if (!tables_) return;
  const PointTables tables = *tables_;
  tables_.reset();
  replace(pixels(), [&](const PixelView& source, std::uint8_t* target, std::ptrdiff_t stride) {
    apply_tables(source, tables, target, stride);
  });
}

/// The pixels that a step looks at. A flip may stay pending: it does not matter to colours.
PixelView LazyImage::pixels() {
  apply_gathered();
  load();
  // Vector code reads a little beyond the pixels, which only our buffers allow.
  if (reaches_outside() || owner_ == nullptr) copy_out();
  return source_.part(box_);
}

/// The same for steps that look at places.
PixelView LazyImage::pixels_in_place() {
  apply_gathered();
  load();
  if (flipped_) copy_out();
  return pixels();
}

void LazyImage::take(const CropStep& step) {
  // Outside of a crop there is black, whatever the source has there.
  const bool leaves_image = !contains(whole(size()), step.box);
  if (leaves_image && step.outside != EdgePadding::kConstant) {
    replace(pixels_in_place(), step.box.size(),
            [&](const PixelView& source, std::uint8_t* target, std::ptrdiff_t stride) {
              copy_padded(source, step.box, step.outside, target, stride);
            });
    return;
  }
  if (leaves_image) {
    apply_gathered();
    if (box_ != whole(source_size_)) copy_out();
  }
  const int left = flipped_ ? box_.width - step.box.right() : step.box.left;
  box_ = {box_.top + step.box.top, box_.left + left, step.box.height, step.box.width};
}

void LazyImage::take(const ResizeStep& step) {
  if (step.size == size()) return;
  apply_gathered();
  if (resize_) load();
  if (flipped_ || reaches_outside()) copy_out();
  resize_ = PendingResize{box_, step.interpolation};
  source_size_ = step.size;
  box_ = whole(step.size);
}

void LazyImage::take(const AffineStep& step) {
  const ImageSize size = step.size.value_or(this->size());
  replace(pixels_in_place(), size,
          [&](const PixelView& source, std::uint8_t* target, std::ptrdiff_t stride) {
            transform_affine(source, step.matrix, step.interpolation, step.fill, size, target,
                             stride);
          });
}

void LazyImage::take(const PerspectiveStep& step) {
  replace(pixels_in_place(),
          [&](const PixelView& source, std::uint8_t* target, std::ptrdiff_t stride) {
            warp(source, step.matrix, step.interpolation, step.fill, source.size, target, stride);
          });
}

void LazyImage::take(const ElasticStep& step) {
  displacement_.draw(size(), step.alpha, step.sigma, step.seed);
  replace(pixels_in_place(),
          [&](const PixelView& source, std::uint8_t* target, std::ptrdiff_t stride) {
            displace(source, displacement_.drawn(), step.is_linear, step.fill, target, stride);
          });
}

void LazyImage::take(const VerticalFlipStep&) {
  replace(pixels(), [](const PixelView& source, std::uint8_t* target, std::ptrdiff_t stride) {
    const auto row_bytes = std::size_t{3} * static_cast<std::size_t>(source.size.width);
    for (int y = 0; y < source.size.height; ++y) {
      std::memcpy(target + y * stride, source.row(source.size.height - 1 - y), row_bytes);
    }
  });
}

void LazyImage::take(const ContrastStep& step) {
  const int mean = mean_luma(pixels());
  append(tables(), blend_table(mean, step.factor));
}

void LazyImage::take(const AutocontrastStep&) {
  const ChannelRanges ranges = channel_ranges(pixels());
  append(tables(), autocontrast_tables(ranges));
}

void LazyImage::take(const EqualizeStep&) {
  const ChannelHistograms histograms = channel_histograms(pixels());
  append(tables(), equalize_tables(histograms));
}

void LazyImage::take(const SaturationStep& step) {
  replace(pixels(), [&](const PixelView& source, std::uint8_t* target, std::ptrdiff_t stride) {
    adjust_saturation(source, step.factor, target, stride);
  });
}

void LazyImage::take(const HueStep& step) {
  replace(pixels(), [&](const PixelView& source, std::uint8_t* target, std::ptrdiff_t stride) {
    adjust_hue(source, step.turn, target, stride);
  });
}

void LazyImage::take(const SharpnessStep& step) {
  replace(pixels(), [&](const PixelView& source, std::uint8_t* target, std::ptrdiff_t stride) {
    sharpen(source, step.factor, target, stride);
  });
}

void LazyImage::take(const GaussianBlurStep& step) {
  blur_.prepare(step.kernel_size, step.sigma);
  replace(pixels(), [&](const PixelView& source, std::uint8_t* target, std::ptrdiff_t stride) {
    blur_.blur(source, target, stride);
  });
}

void LazyImage::take(const BoxBlurStep& step) {
  replace(pixels(), [&](const PixelView& source, std::uint8_t* target, std::ptrdiff_t stride) {
    box_blur_.blur(source, step.radius, target, stride);
  });
}

void LazyImage::take(const PixelStep& step) {
  replace(pixels(), [&](const PixelView& source, std::uint8_t* target, std::ptrdiff_t stride) {
    step.run(source, step.parameters, target, stride);
  });
}

void LazyImage::take(const MixStep& step) {
  const PixelView image = pixels_in_place();
  mix_source_ = room_for(image.size, mixed_from_);
  write_rows(mixed_from_.data(), mix_source_.stride);
  mixture_.begin(image.size);
  mixture_.add(image, step.share);
}

void LazyImage::take(const MixInStep& step) {
  const PixelView image = pixels_in_place();
  PACELINE_CHECK(image.size == mixture_.size(), "{} x {} pixels to mix with {} x {}",
                 image.size.width, image.size.height, mixture_.size().width,
                 mixture_.size().height);
  mixture_.add(image, step.share);
  hold(mix_source_, whole(mix_source_.size), &mixed_from_);
}

void LazyImage::take(const MixedStep& step) {
  if (step.sum_share != 1.0f) mixture_.scale(step.sum_share);
  if (step.own_share != 0.0f) mixture_.add(mix_source_, step.own_share);
  if (step.blended) mixture_.blend(mix_source_, *step.blended);
  replace(mix_source_, [&](const PixelView&, std::uint8_t* target, std::ptrdiff_t stride) {
    mixture_.write(target, stride);
  });
}

void LazyImage::take(const EraseStep& step) {
  PACELINE_CHECK(contains(whole(size()), step.box), "a box to erase lies outside {} x {} pixels",
                 size().width, size().height);
  erased_.push_back(step);
}

}  // namespace paceline::data
