#include "paceline/data/loader/sample_maker.h"

#include <cstdint>
#include <cstring>
#include <utility>

namespace paceline::data {

ImageMaker::ImageMaker(std::shared_ptr<const TransformPipeline> pipeline, ImageForm form)
    : pipeline_(std::move(pipeline)), form_(form) {
  if (pipeline_->draws_noise()) form_.as_bytes = false;
  const ImageSize size = pipeline_->output_size();
  fields_ = {{.name = std::string(kImagesField),
              .type = form_.as_bytes ? FieldType::kUInt8 : FieldType::kFloat32,
              .sizes = {3, size.height, size.width},
              .channels_last = form_.as_bytes || form_.channels_last},
             {.name = std::string(kLabelsField), .type = FieldType::kInt64}};
}

std::optional<BytePixels> ImageMaker::byte_pixels() const {
  if (!form_.as_bytes) return std::nullopt;
  return BytePixels{pipeline_->normalization(), form_.channels_last, pipeline_->erases()};
}

EraseSteps ImageMaker::make(const StoredSample& sample, const DrawKey& key,
                            TransformScratch& scratch, std::span<std::byte* const> targets) const {
  EraseSteps erased;
  if (form_.as_bytes) {
    erased =
        pipeline_->run(sample, key, scratch, ByteSink{reinterpret_cast<std::uint8_t*>(targets[0])});
  } else {
    pipeline_->run(
        sample, key, scratch,
        PixelSink{reinterpret_cast<float*>(targets[0]),
                  form_.channels_last ? PixelLayout::kChannelsLast : PixelLayout::kPlanar});
  }
  std::memcpy(targets[1], &sample.label, sizeof(sample.label));
  return erased;
}

}  // namespace paceline::data
