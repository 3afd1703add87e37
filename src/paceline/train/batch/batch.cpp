#include "paceline/train/batch/batch.h"

#include "paceline/base/error.h"

#include <algorithm>

namespace paceline::train {

Batch wrap(std::unique_ptr<data::HostBatch> host) {
  Batch batch;
  batch.size = host->count;
  batch.global_size = host->global_count;
  batch.first_position = host->first_position;
  batch.indices = std::move(host->indices);
  batch.skipped = std::move(host->skipped);
  const std::int64_t height = host->height;
  const std::int64_t width = host->width;
  const std::vector<std::int64_t> sizes{host->count, 3, height, width};
  const bool is_bytes = host->form == data::PixelForm::kBytes;
  const std::vector<std::int64_t> strides =
      host->channels_last || is_bytes
          ? std::vector<std::int64_t>{3 * height * width, 1, 3 * width, 3}
          : std::vector<std::int64_t>{3 * height * width, height * width, width, 1};
  batch.fields.set(kImages,
                   at::from_blob(
                       host->pixels.get(), sizes, strides, [owner = host->pixels](void*) {},
                       is_bytes ? at::kByte : at::kFloat));
  batch.fields.set(kLabels, at::from_blob(
                                host->labels.get(), {host->count}, {1},
                                [owner = host->labels](void*) {}, at::kLong));
  return batch;
}

Batch with_floats_as(Batch batch, at::ScalarType dtype) {
  for (auto& [name, field] : batch.fields) {
    if (field.is_floating_point()) field = field.to(dtype);
  }
  return batch;
}

std::vector<Batch> split(const Batch& batch, int num_microbatches, int world_size) {
  const std::int64_t largest_share = (batch.global_size + world_size - 1) / world_size;
  PACELINE_CHECK(batch.size == largest_share || batch.size == largest_share - 1,
                 "a share of {} samples of a batch of {} over {} ranks", batch.size,
                 batch.global_size, world_size);
  const std::int64_t part_size = (largest_share + num_microbatches - 1) / num_microbatches;
  if (part_size >= largest_share) return {batch};
  std::vector<Batch> parts;
  for (std::int64_t begin = 0; begin < largest_share; begin += part_size) {
    const std::int64_t size = std::min(part_size, batch.size - begin);
    Batch part;
    part.fields =
        batch.fields.map([&](const at::Tensor& field) { return field.narrow(0, begin, size); });
    part.size = size;
    part.global_size = batch.global_size;
    part.first_position = batch.first_position + begin;
    part.indices.assign(batch.indices.begin() + begin, batch.indices.begin() + begin + size);
    parts.push_back(std::move(part));
  }
  return parts;
}

}  // namespace paceline::train
