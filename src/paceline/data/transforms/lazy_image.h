#pragma once

#include "paceline/data/codec/image_decoder.h"
#include "paceline/data/codec/orientation.h"
#include "paceline/data/dataset/dataset.h"
#include "paceline/data/image/pixels.h"
#include "paceline/data/transforms/kernels/box_blur.h"
#include "paceline/data/transforms/kernels/displacement.h"
#include "paceline/data/transforms/kernels/gaussian_blur.h"
#include "paceline/data/transforms/kernels/mixture.h"
#include "paceline/data/transforms/kernels/point_tables.h"
#include "paceline/data/transforms/normalize.h"
#include "paceline/data/transforms/plan.h"
#include "paceline/data/transforms/resize.h"

#include <optional>

namespace paceline::data {

/// One image on its way from stored bytes to floats. Crops, flips and a resize are only noted until
/// a step needs the pixels, so that no more of a file is decoded and resized than is used and
/// nothing is copied for them. Operations on single bytes are gathered in one table and applied at
/// once.
class LazyImage {
 public:
  /// Takes up a new sample, which must stay until write(). Throws DataError.
  void open(const StoredSample& sample, ExifRule exif = ExifRule::kIgnore);
  /// The image's size after the steps so far.
  ImageSize size() const { return box_.size(); }
  void apply(const Step& step);
  /// Does all that write() would have to do before it writes.
  void finish();
  /// Writes the result. Then comes the next open().
  void write(const NormalizeTable& table, PixelSink sink);
  /// Writes the result before normalisation, and returns what is to be erased after it.
  EraseSteps write(ByteSink sink);
  /// Time that decoding has taken, of all images so far.
  double decode_seconds() const { return decode_seconds_; }
  /// Bytes of memory that it holds for pixels.
  std::size_t num_bytes() const {
    return decoded_.capacity() + work_[0].capacity() + work_[1].capacity() + mixed_from_.capacity();
  }

 private:
  void take(const CropStep& step);
  void take(const ResizeStep& step);
  void take(const FlipStep&) { flipped_ = !flipped_; }
  void take(const VerticalFlipStep& step);
  void take(const AffineStep& step);
  void take(const PerspectiveStep& step);
  void take(const ElasticStep& step);
  void take(const BrightnessStep& step) { append(tables(), blend_table(0, step.factor)); }
  void take(const ContrastStep& step);
  void take(const SaturationStep& step);
  void take(const HueStep& step);
  void take(const SharpnessStep& step);
  void take(const GaussianBlurStep& step);
  void take(const BoxBlurStep& step);
  void take(const PosterizeStep& step) { append(tables(), posterize_table(step.bits)); }
  void take(const SolarizeStep& step) { append(tables(), solarize_table(step.threshold)); }
  void take(const SolarizeAddStep& step) {
    append(tables(), solarize_add_table(step.amount, step.threshold));
  }
  void take(const InvertStep&) { append(tables(), invert_table()); }
  void take(const AutocontrastStep& step);
  void take(const EqualizeStep& step);
  void take(const PixelStep& step);
  void take(const MixStep& step);
  void take(const MixInStep& step);
  void take(const MixedStep&);
  void take(const EraseStep& step);

  bool reaches_outside() const { return !contains(whole(source_size_), box_); }
  void hold(const PixelView& source, const Box& box, PixelBuffer* owner);
  void load();
  PixelView decode(const Box& box);
  void load_resized();
  void copy_out();
  void apply_gathered();
  PointTables& tables();
  void write_rows(std::uint8_t* target, std::ptrdiff_t stride) const;
  PixelView pixels();
  PixelView pixels_in_place();
  template <class Operation>
  void replace(const PixelView& source, Operation operation) {
    replace(source, source.size, operation);
  }
  template <class Operation>
  void replace(const PixelView& source, ImageSize size, Operation operation);
  PixelBuffer& free_buffer() { return owner_ == &work_[0] ? work_[1] : work_[0]; }

  ImageDecoder decoder_;
  double decode_seconds_ = 0;
  Resizer resizer_;
  GaussianBlur blur_;
  BoxBlur box_blur_;
  Displacement displacement_;
  Mixture mixture_;
  PixelBuffer decoded_;
  PixelBuffer work_[2];
  PixelBuffer mixed_from_;

  /// A resize that is still to be done: of this box of the source to source_size_.
  struct PendingResize {
    Box from;
    Interpolation interpolation;
  };

  bool is_encoded_ = false;  ///< the source is still a file in memory
  std::optional<PendingResize> resize_;
  PixelView source_;  ///< unless is_encoded_
  PixelBuffer* owner_ =
      nullptr;             ///< the buffer that holds source_; nullptr: the sample's own bytes
  ImageSize source_size_;  ///< as resized
  Box box_;                ///< the image is this box of the source, black outside of it ...
  bool flipped_ = false;   ///< ... and then mirrored
  std::optional<PointTables> tables_;  ///< ... and then mapped
  PixelView mix_source_;               ///< in mixed_from_: what each part of a mixture begins with
  EraseSteps erased_;
};

}  // namespace paceline::data
