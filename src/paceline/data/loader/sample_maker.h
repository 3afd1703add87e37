#pragma once

#include "paceline/data/dataset/dataset.h"
#include "paceline/data/dataset/field.h"
#include "paceline/data/loader/host_batch.h"
#include "paceline/data/transforms/pipeline.h"
#include "paceline/data/transforms/plan.h"

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace paceline::data {

/// Makes the fields of a batch's samples of what is stored. Immutable; any number of threads may
/// use it at once, each with a scratch of its own. Whatever is drawn is a function of the key and
/// the sample, one draw for all fields of it.
class SampleMaker {
 public:
  virtual ~SampleMaker() = default;

  /// What every sample has, in the order in which targets are given. Sizes are those of all.
  virtual const std::vector<FieldSpec>& fields() const = 0;

  /// How images that come as bytes become floats on the device; nothing if none do.
  virtual std::optional<BytePixels> byte_pixels() const { return std::nullopt; }

  /// Writes each field of a sample to its target. Returns the boxes that are left to be erased of
  /// an image that comes as bytes. Throws DataError, without the file's name, if the sample does
  /// not suit.
  virtual EraseSteps make(const StoredSample& sample, const DrawKey& key, TransformScratch& scratch,
                          std::span<std::byte* const> targets) const = 0;
};

/// What the pixels of images are.
struct ImageForm {
  /// 8 bits, to be normalised on the device: a quarter of the memory. Not where a pipeline draws
  /// noise.
  bool as_bytes = false;
  bool channels_last = true;
  /// All of a pipeline's views of a sample, one behind the other, each of planes of float32; where
  /// there are several.
  bool all_views = false;
  /// Of samples with lists of labels: how many classes there are.
  int num_targets = 0;
};

/// Labelled images by a pipeline of transforms: kImagesField, of sizes [3, height, width] or, of
/// all views, [views, 3, height, width], kLabelsField, and of samples with lists of labels
/// kTargetsField, of as many float32 as there are classes.
class ImageMaker final : public SampleMaker {
 public:
  explicit ImageMaker(std::shared_ptr<const TransformPipeline> pipeline, ImageForm form = {});

  const std::vector<FieldSpec>& fields() const override { return fields_; }
  std::optional<BytePixels> byte_pixels() const override;
  EraseSteps make(const StoredSample& sample, const DrawKey& key, TransformScratch& scratch,
                  std::span<std::byte* const> targets) const override;

 private:
  EraseSteps make_image(const StoredSample& sample, const DrawKey& key, TransformScratch& scratch,
                        std::byte* target) const;

  std::shared_ptr<const TransformPipeline> pipeline_;
  ImageForm form_;
  std::vector<FieldSpec> fields_;
};

/// An ImageMaker of its own pipeline.
inline std::shared_ptr<const SampleMaker> make_images(const TransformPipeline& pipeline,
                                                      ImageForm form = {}) {
  return std::make_shared<ImageMaker>(std::make_shared<TransformPipeline>(pipeline), form);
}

}  // namespace paceline::data
