#include "paceline/data/transforms/pipeline.h"

#include "paceline/base/error.h"
#include "paceline/data/transforms/array_transform.h"
#include "paceline/data/transforms/lazy_image.h"

#include <optional>
#include <utility>

namespace paceline::data {
namespace {

/// Throws ConfigError if transform `index` must come later.
void check_place(const std::vector<TransformConfig>& transforms, std::size_t index) {
  const std::size_t behind = transforms.size() - 1 - index;
  const TransformPlace place = transforms[index]->place();
  if (place == TransformPlace::kLast && behind > 0) {
    throw base::ConfigError(
        fmt::format("{} is number {} of {} transforms: it must be the last, as it works on the "
                    "normalised image",
                    transforms[index]->name(), index + 1, transforms.size()));
  }
  const bool only_the_last_follows =
      behind == 0 || (behind == 1 && transforms.back()->place() == TransformPlace::kLast);
  if (place == TransformPlace::kNormalize && !only_the_last_follows) {
    throw base::ConfigError(
        fmt::format("{} is number {} of {} transforms: it must be the last, or followed by "
                    "random_erasing alone",
                    transforms[index]->name(), index + 1, transforms.size()));
  }
}

/// Throws ConfigError if it names fields of arrays, which would be ignored.
void check_is_for_images(const TransformConfig& transform) {
  const ArrayTransform* const arrays = transform->for_arrays();
  if (arrays == nullptr || arrays->field_names().empty()) return;
  throw base::ConfigError(
      fmt::format("{}.fields: names fields of arrays, and the samples are images: take it out",
                  transform->name()));
}

}  // namespace

TransformScratch::TransformScratch() : image_(std::make_unique<LazyImage>()) {}
TransformScratch::~TransformScratch() = default;
TransformScratch::TransformScratch(TransformScratch&&) noexcept = default;
TransformScratch& TransformScratch::operator=(TransformScratch&&) noexcept = default;

double TransformScratch::decode_seconds() const { return image_->decode_seconds(); }

bool fixes_size(const std::vector<TransformConfig>& transforms) {
  std::optional<ImageSize> size;
  for (const TransformConfig& transform : transforms) size = transform->fixed_size(size);
  return size.has_value();
}

TransformPipeline::TransformPipeline(const std::vector<TransformConfig>& transforms,
                                     std::optional<InputSize> input, ExifRule exif)
    : transforms_(transforms), exif_(exif) {
  for (const TransformConfig& transform : transforms_) transform->check();
  if (!fixes_size(transforms)) input_ = std::move(input);
  std::optional<ImageSize> size = input_ ? std::optional(input_->size) : std::nullopt;
  for (std::size_t i = 0; i < transforms_.size(); ++i) {
    check_place(transforms_, i);
    check_is_for_images(transforms_[i]);
    if (const auto* config = transforms_[i].get_if<NormalizeConfig>()) {
      normalization_ = *config;
      normalize_ = NormalizeTable(*config);
    }
    add(*transforms_[i].operator->());
    size = transforms_[i]->fixed_size(size);
  }
  if (!size) {
    throw base::ConfigError(
        "the transforms leave images of different sizes, which do not fit into one batch: add "
        "random_resized_crop, random_crop or center_crop");
  }
  output_size_ = *size;
}

/// Takes note of what a transform does that others need to know.
void TransformPipeline::add(const Transform& transform) {
  draws_noise_ |= transform.draws_noise();
  erases_ |= transform.place() == TransformPlace::kLast;
  if (transform.num_views() == 1) return;
  if (num_views_ > 1) {
    throw base::ConfigError(fmt::format(
        "{} is the second of the transforms to make several views of an image: leave one out",
        transform.name()));
  }
  num_views_ = transform.num_views();
}

void TransformPipeline::draw(const DrawKey& key, ImageSize image, Plan& plan) const {
  base::Philox draws(key.seed, base::DrawPurpose::kAugmentation, key.epoch, key.position);
  plan.clear();
  for (const TransformConfig& transform : transforms_)
    image = transform->draw_for(key, image, draws, plan);
}

void TransformPipeline::take_steps(const Plan& plan, LazyImage& image) const {
  for (const Step& step : plan) image.apply(step);
  image.finish();
  require_size(image.size());
}

void TransformPipeline::require_size(ImageSize size) const {
  if (size == output_size_) return;
  PACELINE_CHECK(input_, "the plan ends in {} x {} pixels instead of {} x {}", size.width,
                 size.height, output_size_.width, output_size_.height);
  throw base::ConfigError(fmt::format(
      "{} leaves {} x {} pixels of this image and {} x {} of {}, and the images of a batch must be "
      "of one size: add center_crop or random_resized_crop",
      input_->key, size.width, size.height, output_size_.width, output_size_.height,
      input_->image));
}

void TransformPipeline::draw_and_take(const StoredSample& sample, const DrawKey& key,
                                      TransformScratch& scratch) const {
  scratch.image_->open(sample, exif_);
  draw(key, scratch.image_->size(), scratch.plan_);
  take_steps(scratch.plan_, *scratch.image_);
  scratch.next_sample.advance();
}

void TransformPipeline::run(const StoredSample& sample, const DrawKey& key,
                            TransformScratch& scratch, PixelSink sink) const {
  draw_and_take(sample, key, scratch);
  scratch.image_->write(normalize_, sink);
}

EraseSteps TransformPipeline::run(const StoredSample& sample, const DrawKey& key,
                                  TransformScratch& scratch, ByteSink sink) const {
  draw_and_take(sample, key, scratch);
  return scratch.image_->write(sink);
}

void TransformPipeline::apply(const StoredSample& sample, const Plan& plan,
                              TransformScratch& scratch, PixelSink sink) const {
  scratch.image_->open(sample, exif_);
  take_steps(plan, *scratch.image_);
  scratch.image_->write(normalize_, sink);
}

EraseSteps TransformPipeline::apply(const StoredSample& sample, const Plan& plan,
                                    TransformScratch& scratch, ByteSink sink) const {
  scratch.image_->open(sample, exif_);
  take_steps(plan, *scratch.image_);
  return scratch.image_->write(sink);
}

}  // namespace paceline::data
