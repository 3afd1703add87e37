#include "paceline/data/transforms/pipeline.h"

#include "paceline/base/error.h"
#include "paceline/data/transforms/lazy_image.h"
#include "paceline/data/transforms/schema.h"

#include <optional>
#include <utility>
#include <variant>

namespace paceline::data {
namespace {

/// The size after `transform`, where it is the same for all images that come in.
std::optional<ImageSize> fixed_size(const TransformConfig& transform,
                                    std::optional<ImageSize> before) {
  const auto square = [](int side) { return ImageSize{side, side}; };
  if (const auto* crop = std::get_if<RandomResizedCropConfig>(&transform))
    return square(crop->size);
  if (const auto* crop = std::get_if<RandomCropConfig>(&transform)) return square(crop->size);
  if (const auto* crop = std::get_if<CenterCropConfig>(&transform)) return square(crop->size);
  if (std::holds_alternative<ResizeConfig>(transform) && before) {
    Plan unused;
    base::Philox no_draws(0, base::DrawPurpose::kAugmentation, 0, 0);
    return draw_steps(transform, *before, no_draws, unused);
  }
  return std::holds_alternative<ResizeConfig>(transform) ? std::nullopt : before;
}

/// Throws ConfigError if transform `index` must come later.
void check_place(const std::vector<TransformConfig>& transforms, std::size_t index) {
  const std::size_t behind = transforms.size() - 1 - index;
  const bool is_erasing = std::holds_alternative<RandomErasingConfig>(transforms[index]);
  if (is_erasing && behind > 0) {
    throw base::ConfigError(
        fmt::format("random_erasing is number {} of {} transforms: it must be "
                    "the last, as it works on the normalised image",
                    index + 1, transforms.size()));
  }
  const bool only_erasing_follows =
      behind == 0 ||
      (behind == 1 && std::holds_alternative<RandomErasingConfig>(transforms.back()));
  if (std::holds_alternative<NormalizeConfig>(transforms[index]) && !only_erasing_follows) {
    throw base::ConfigError(
        fmt::format("normalize is number {} of {} transforms: it must be the last, or followed by "
                    "random_erasing alone",
                    index + 1, transforms.size()));
  }
}

}  // namespace

TransformScratch::TransformScratch() : image_(std::make_unique<LazyImage>()) {}
TransformScratch::~TransformScratch() = default;
TransformScratch::TransformScratch(TransformScratch&&) noexcept = default;
TransformScratch& TransformScratch::operator=(TransformScratch&&) noexcept = default;

double TransformScratch::decode_seconds() const { return image_->decode_seconds(); }

bool fixes_size(const std::vector<TransformConfig>& transforms) {
  std::optional<ImageSize> size;
  for (const TransformConfig& transform : transforms) size = fixed_size(transform, size);
  return size.has_value();
}

TransformPipeline::TransformPipeline(const std::vector<TransformConfig>& transforms,
                                     std::optional<InputSize> input)
    : transforms_(transforms) {
  for (const TransformConfig& transform : transforms_) check_values(transform);
  if (!fixes_size(transforms)) input_ = std::move(input);
  std::optional<ImageSize> size = input_ ? std::optional(input_->size) : std::nullopt;
  for (std::size_t i = 0; i < transforms_.size(); ++i) {
    check_place(transforms_, i);
    if (const auto* config = std::get_if<NormalizeConfig>(&transforms_[i])) {
      normalization_ = *config;
      normalize_ = NormalizeTable(*config);
    }
    erases_ |= std::holds_alternative<RandomErasingConfig>(transforms_[i]);
    size = fixed_size(transforms_[i], size);
  }
  if (!size) {
    throw base::ConfigError(
        "the transforms leave images of different sizes, which do not fit into one batch: add "
        "random_resized_crop, random_crop or center_crop");
  }
  output_size_ = *size;
}

void TransformPipeline::draw(const DrawKey& key, ImageSize image, Plan& plan) const {
  base::Philox draws(key.seed, base::DrawPurpose::kAugmentation, key.epoch, key.position);
  plan.clear();
  for (const TransformConfig& transform : transforms_)
    image = draw_steps(transform, image, draws, plan);
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
  scratch.image_->open(sample);
  draw(key, scratch.image_->size(), scratch.plan_);
  take_steps(scratch.plan_, *scratch.image_);
  scratch.next_sample.advance();
}

void TransformPipeline::run(const StoredSample& sample, const DrawKey& key,
                            TransformScratch& scratch, PixelSink sink) const {
  draw_and_take(sample, key, scratch);
  scratch.image_->write(normalize_, sink);
}

std::optional<EraseStep> TransformPipeline::run(const StoredSample& sample, const DrawKey& key,
                                                TransformScratch& scratch, ByteSink sink) const {
  draw_and_take(sample, key, scratch);
  return scratch.image_->write(sink);
}

void TransformPipeline::apply(const StoredSample& sample, const Plan& plan,
                              TransformScratch& scratch, PixelSink sink) const {
  scratch.image_->open(sample);
  take_steps(plan, *scratch.image_);
  scratch.image_->write(normalize_, sink);
}

std::optional<EraseStep> TransformPipeline::apply(const StoredSample& sample, const Plan& plan,
                                                  TransformScratch& scratch, ByteSink sink) const {
  scratch.image_->open(sample);
  take_steps(plan, *scratch.image_);
  return scratch.image_->write(sink);
}

}  // namespace paceline::data
