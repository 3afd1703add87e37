#include "paceline/algorithms/microbatch/images.h"

#include "paceline/base/error.h"

namespace paceline::algorithms {

const at::Tensor& images_of(const train::Batch& batch, std::string_view algorithm) {
  if (const at::Tensor* const images = batch.fields.find(train::kImages)) return *images;
  throw base::ConfigError(
      fmt::format("algorithms.{0} needs a data set of images; the fields of this one are {1}: "
                  "leave algorithms.{0} out",
                  algorithm, batch.fields.names()));
}

nn::ImageSize size_of(const at::Tensor& images) { return {images.size(2), images.size(3)}; }

std::uint64_t bytes_of_images(const train::FieldBytes& field_bytes) {
  const auto images = field_bytes.find(train::kImages);
  return images == field_bytes.end() ? 0 : images->second;
}

}  // namespace paceline::algorithms
