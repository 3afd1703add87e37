#pragma once

#include "paceline/data/loader/host_batch.h"

#include <cstdint>
#include <memory>

namespace paceline::test {

/// A batch of labelled images with memory of its own, not filled in.
inline std::unique_ptr<data::HostBatch> image_batch(std::int64_t count, int height, int width,
                                                    bool channels_last = true,
                                                    bool as_bytes = false) {
  const std::vector<data::FieldSpec> fields{
      {.name = std::string(data::kImagesField),
       .type = as_bytes ? data::FieldType::kUInt8 : data::FieldType::kFloat32,
       .sizes = {3, height, width},
       .channels_last = channels_last || as_bytes},
      {.name = std::string(data::kLabelsField), .type = data::FieldType::kInt64}};
  const std::shared_ptr<std::byte[]> memory(new std::byte[data::batch_bytes(fields, count)]());
  auto batch = std::make_unique<data::HostBatch>();
  batch->fields = data::lay_out(fields, count, {memory, memory.get()});
  batch->count = count;
  batch->global_count = count;
  return batch;
}

inline float* floats_of(const data::HostBatch& batch) {
  return reinterpret_cast<float*>(batch.at(data::kImagesField).memory.get());
}

inline std::int64_t* labels_of(const data::HostBatch& batch) {
  return reinterpret_cast<std::int64_t*>(batch.at(data::kLabelsField).memory.get());
}

}  // namespace paceline::test
