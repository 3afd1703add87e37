#include "paceline/train/batch/batch.h"

#include "paceline/base/error.h"
#include "paceline/nn/image_network.h"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <ranges>
#include <vector>

namespace paceline::train {

namespace {

at::ScalarType dtype_of(data::FieldType type) {
  switch (type) {
    case data::FieldType::kUInt8:
      return at::kByte;
    case data::FieldType::kInt16:
      return at::kShort;
    case data::FieldType::kInt32:
      return at::kInt;
    case data::FieldType::kInt64:
      return at::kLong;
    case data::FieldType::kFloat16:
      return at::kHalf;
    case data::FieldType::kFloat32:
      return at::kFloat;
    case data::FieldType::kFloat64:
      return at::kDouble;
  }
  throw base::InternalError("an unknown type of a field");
}

at::Tensor wrap(const data::HostField& field, std::int64_t count) {
  std::vector<std::int64_t> sizes{count};
  sizes.insert(sizes.end(), field.spec.sizes.begin(), field.spec.sizes.end());
  std::vector<std::int64_t> order(sizes.size());  // of dimensions, the slowest first
  std::iota(order.begin(), order.end(), 0);
  if (field.spec.channels_last && order.size() > 1)
    std::rotate(order.begin() + 1, order.begin() + 2, order.end());
  std::vector<std::int64_t> strides(sizes.size());
  std::int64_t stride = 1;
  for (const std::int64_t dimension : order | std::views::reverse) {
    strides[static_cast<std::size_t>(dimension)] = stride;
    stride *= sizes[static_cast<std::size_t>(dimension)];
  }
  return at::from_blob(
      field.memory.get(), sizes, strides, [owner = field.memory](void*) {},
      dtype_of(field.spec.type));
}

}  // namespace

Batch wrap(std::unique_ptr<data::HostBatch> host) {
  Batch batch;
  batch.size = host->count;
  batch.global_size = host->global_count;
  batch.first_position = host->first_position;
  batch.indices = std::move(host->indices);
  batch.skipped = std::move(host->skipped);
  for (const data::HostField& field : host->fields)
    batch.fields.set(field.spec.name, wrap(field, host->count));
  return batch;
}

Batch with_floats_as(Batch batch, at::ScalarType dtype) {
  for (auto& [name, field] : batch.fields) {
    if (field.is_floating_point()) field = field.to(dtype);
  }
  return batch;
}

void keep_samples(Batch& batch, const at::Tensor& rows) {
  batch.fields =
      batch.fields.map([&](const at::Tensor& field) { return field.index_select(0, rows); });
  batch.kept = batch.kept.defined() ? batch.kept.index_select(0, rows) : rows;
  batch.size = rows.numel();
}

std::vector<std::int64_t> sample_indices(const Batch& batch) {
  if (!batch.kept.defined()) return batch.indices;
  std::vector<std::int64_t> indices;
  const at::Tensor kept = batch.kept.cpu();
  for (std::int64_t i = 0; i < kept.numel(); ++i)
    indices.push_back(batch.indices.at(kept.const_data_ptr<std::int64_t>()[i]));
  return indices;
}

std::vector<std::int64_t> split_sizes(std::int64_t share, std::int64_t global_size,
                                      int num_microbatches, int world_size) {
  const std::int64_t largest_share = (global_size + world_size - 1) / world_size;
  PACELINE_CHECK(share == largest_share || share == largest_share - 1,
                 "a share of {} samples of a batch of {} over {} ranks", share, global_size,
                 world_size);
  const std::int64_t part_size = (largest_share + num_microbatches - 1) / num_microbatches;
  if (part_size >= largest_share) return {share};
  std::vector<std::int64_t> sizes;
  for (std::int64_t begin = 0; begin < largest_share; begin += part_size)
    sizes.push_back(std::min(part_size, share - begin));
  return sizes;
}

std::vector<Batch> split(const Batch& batch, int num_microbatches, int world_size) {
  const std::vector<std::int64_t> sizes =
      split_sizes(batch.size, batch.global_size, num_microbatches, world_size);
  if (sizes.size() == 1) return {batch};
  std::vector<Batch> parts;
  std::int64_t begin = 0;
  for (const std::int64_t size : sizes) {
    Batch part;
    part.fields =
        batch.fields.map([&](const at::Tensor& field) { return field.narrow(0, begin, size); });
    part.size = size;
    part.global_size = batch.global_size;
    part.first_position = batch.first_position + begin;
    part.indices.assign(batch.indices.begin() + begin, batch.indices.begin() + begin + size);
    parts.push_back(std::move(part));
    begin += size;
  }
  return parts;
}

}  // namespace paceline::train
