#pragma once

#include "paceline/data/codec/orientation.h"
#include "paceline/data/dataset/dataset.h"
#include "paceline/data/image/pixels.h"
#include "paceline/data/storage/prefetch.h"
#include "paceline/data/transforms/normalize.h"
#include "paceline/data/transforms/plan.h"
#include "paceline/data/transforms/transform.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace paceline::data {

class LazyImage;

/// What one thread needs to run pipelines: decoders and buffers, reused from sample to sample, so
/// that work allocates nothing once it has seen the largest image (libjpeg and libpng excepted).
class TransformScratch {
 public:
  TransformScratch();
  ~TransformScratch();
  TransformScratch(TransformScratch&&) noexcept;
  TransformScratch& operator=(TransformScratch&&) noexcept;

  /// Time that decoding has taken, of all images so far.
  double decode_seconds() const;

  Prefetch next_sample;  ///< moved nearer while this one is worked on

 private:
  friend class TransformPipeline;
  std::unique_ptr<LazyImage> image_;
  Plan plan_;
};

/// The size that images have before the first transform, where it is taken to be the same for all.
struct InputSize {
  ImageSize size;
  std::string image;  ///< whose size it is, and
  std::string key;    ///< the key of the transforms: both for the message to one of another size
};

/// Whether what comes out of these transforms has the same size whatever comes in.
bool fixes_size(const std::vector<TransformConfig>& transforms);

/// Turns stored samples into normalised float32 images of one size, or into their bytes before
/// normalisation. Immutable; any number of threads may run it at once, each with a scratch of its
/// own.
///
/// A transform has two halves. draw() is a function of the key and the image's size alone and
/// yields a plan of steps with explicit parameters; apply() is a function of the pixels and the
/// plan alone. For equal parameters the pixels equal Pillow's and torchvision's (PIL backend) bit
/// for bit.
class TransformPipeline {
 public:
  /// In the order in which they are applied. Normalize must come last, random_erasing behind it;
  /// left out, pixels are x / 255. Without fixes_size() the images must be of `input`'s size.
  /// `exif` comes before the first of them. Throws ConfigError if a value is out of range or the
  /// images' size would not be fixed.
  explicit TransformPipeline(const std::vector<TransformConfig>& transforms,
                             std::optional<InputSize> input = std::nullopt,
                             ExifRule exif = ExifRule::kIgnore);

  /// The size of every image that this pipeline writes.
  ImageSize output_size() const { return output_size_; }

  /// How many views DrawKey::view chooses from.
  int num_views() const { return num_views_; }

  /// How the floats follow from the bytes.
  const NormalizeConfig& normalization() const { return normalization_; }
  /// Whether bytes need more than the normalisation to become this pipeline's floats.
  bool erases() const { return erases_; }
  /// Whether that makes floats that cannot be made of bytes elsewhere.
  bool draws_noise() const { return draws_noise_; }

  /// Writes one image to `sink`, which has room for 3 * height * width floats. Throws DataError,
  /// without the file's name, if the sample cannot be decoded or does not suit the transforms.
  void run(const StoredSample& sample, const DrawKey& key, TransformScratch& scratch,
           PixelSink sink) const;
  /// The same before normalisation, 3 * height * width bytes. Erasing is done on floats: the caller
  /// must fill the returned boxes after it has normalised (fill_box).
  [[nodiscard]] EraseSteps run(const StoredSample& sample, const DrawKey& key,
                               TransformScratch& scratch, ByteSink sink) const;

  /// The steps for an image of this size; `plan` is overwritten.
  void draw(const DrawKey& key, ImageSize image, Plan& plan) const;
  /// Runs explicit steps, whose result must have the size output_size().
  void apply(const StoredSample& sample, const Plan& plan, TransformScratch& scratch,
             PixelSink sink) const;
  [[nodiscard]] EraseSteps apply(const StoredSample& sample, const Plan& plan,
                                 TransformScratch& scratch, ByteSink sink) const;

 private:
  void add(const Transform& transform);
  void take_steps(const Plan& plan, LazyImage& image) const;
  void require_size(ImageSize size) const;
  void draw_and_take(const StoredSample& sample, const DrawKey& key,
                     TransformScratch& scratch) const;

  std::vector<TransformConfig> transforms_;
  ExifRule exif_;
  NormalizeConfig normalization_ = {{0.0, 0.0, 0.0}, {1.0, 1.0, 1.0}};
  NormalizeTable normalize_;
  int num_views_ = 1;
  bool erases_ = false;
  bool draws_noise_ = false;
  std::optional<InputSize> input_;  ///< if the size hangs on it
  ImageSize output_size_;
};

}  // namespace paceline::data
