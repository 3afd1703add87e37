#include "paceline/data/loader/sample_maker.h"

#include "paceline/base/error.h"

#include <cstdint>
#include <cstring>
#include <utility>

namespace paceline::data {
namespace {

/// 1 for each of the labels, else 0.
void write_targets(std::span<const std::int64_t> labels, int count, std::byte* target) {
  std::vector<float> numbers(static_cast<std::size_t>(count));
  for (const std::int64_t label : labels) {
    if (label < 0 || label >= count) {
      throw base::DataError(
          fmt::format("one of its labels is {}, expected 0 to {}, as the data set has {} classes",
                      label, count - 1, count));
    }
    numbers[static_cast<std::size_t>(label)] = 1;
  }
  std::memcpy(target, numbers.data(), numbers.size() * sizeof(float));
}

}  // namespace

ImageMaker::ImageMaker(std::shared_ptr<const TransformPipeline> pipeline, ImageForm form)
    : pipeline_(std::move(pipeline)), form_(form) {
  form_.all_views &= pipeline_->num_views() > 1;
  if (pipeline_->draws_noise() || form_.all_views) form_.as_bytes = false;
  if (form_.all_views) form_.channels_last = false;
  const ImageSize size = pipeline_->output_size();
  fields_ = {{.name = std::string(kImagesField),
              .type = form_.as_bytes ? FieldType::kUInt8 : FieldType::kFloat32,
              .sizes = {3, size.height, size.width},
              .channels_last = form_.as_bytes || form_.channels_last},
             {.name = std::string(kLabelsField), .type = FieldType::kInt64}};
  if (form_.num_targets > 0)
    fields_.push_back({.name = std::string(kTargetsField), .sizes = {form_.num_targets}});
  std::vector<std::int64_t>& sizes = fields_.front().sizes;
  if (form_.all_views) sizes.insert(sizes.begin(), pipeline_->num_views());
}

std::optional<BytePixels> ImageMaker::byte_pixels() const {
  if (!form_.as_bytes) return std::nullopt;
  return BytePixels{pipeline_->normalization(), form_.channels_last, pipeline_->erases()};
}

EraseSteps ImageMaker::make(const StoredSample& sample, const DrawKey& key,
                            TransformScratch& scratch, std::span<std::byte* const> targets) const {
  std::memcpy(targets[1], &sample.label, sizeof(sample.label));
  if (form_.num_targets > 0) write_targets(sample.labels, form_.num_targets, targets[2]);
  if (!form_.all_views) return make_image(sample, key, scratch, targets[0]);
  const int num_views = pipeline_->num_views();
  const std::size_t view_bytes =
      sample_bytes(fields_.front()) / static_cast<std::size_t>(num_views);
  DrawKey view_key = key;
  for (int view = 0; view < num_views; ++view) {
    view_key.view = view;
    make_image(sample, view_key, scratch, targets[0] + static_cast<std::size_t>(view) * view_bytes);
  }
  return {};
}

EraseSteps ImageMaker::make_image(const StoredSample& sample, const DrawKey& key,
                                  TransformScratch& scratch, std::byte* target) const {
  if (form_.as_bytes)
    return pipeline_->run(sample, key, scratch, ByteSink{reinterpret_cast<std::uint8_t*>(target)});
  pipeline_->run(
      sample, key, scratch,
      PixelSink{reinterpret_cast<float*>(target),
                form_.channels_last ? PixelLayout::kChannelsLast : PixelLayout::kPlanar});
  return {};
}

}  // namespace paceline::data
