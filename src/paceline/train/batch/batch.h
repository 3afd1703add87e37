#pragma once

#include "paceline/data/loader/loader.h"
#include "paceline/tensor/fields.h"

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace paceline::train {

/// [size, 3, height, width] float32, channels-last or contiguous.
inline constexpr std::string_view kImages = data::kImagesField;
/// [size] int64: class indices, which nothing changes.
inline constexpr std::string_view kLabels = data::kLabelsField;
/// What the loss compares with instead of the labels, if it is there: [size] int64 class indices or
/// [size, num_classes] probabilities.
inline constexpr std::string_view kTargets = "targets";

/// This rank's share of a global batch, or a microbatch of it. The first dimension of every field
/// are samples.
struct Batch {
  tensor::Fields fields;
  std::int64_t size = 0;
  std::int64_t global_size = 0;     ///< samples of the whole global batch, over all ranks
  std::int64_t first_position = 0;  ///< global position of the first sample in the epoch's order
  /// In the data set, for messages: of each sample, or with `kept` of those that it counts.
  std::vector<std::int64_t> indices;
  /// int64 [size] beside the fields: which of `indices` the samples are; undefined: all, in order.
  at::Tensor kept = {};
  std::vector<std::string> skipped;  ///< of a whole share: as HostBatch::skipped
};

/// Wraps the loader's memory as tensors without copying; the batch owns it. Of a loader that gives
/// bytes, images are uint8 (see ByteImages).
Batch wrap(std::unique_ptr<data::HostBatch> host);

/// The batch with floating fields in another dtype.
Batch with_floats_as(Batch batch, at::ScalarType dtype);

/// Leaves the batch these of its samples, int64 [n] beside the fields, in that order. Does not wait
/// for the device.
void keep_samples(Batch& batch, const at::Tensor& rows);

/// Where each sample lies in the data set. Waits for the device if samples were chosen there.
std::vector<std::int64_t> sample_indices(const Batch& batch);

/// The sizes of the parts into which split() cuts a rank's share.
std::vector<std::int64_t> split_sizes(std::int64_t share, std::int64_t global_size,
                                      int num_microbatches, int world_size);

/// Consecutive parts, at most `num_microbatches` and as many on each of the `world_size` ranks,
/// which have equal shares of the global batch or one sample less. All but the last part have the
/// same size on every rank; the last may be smaller, or empty.
std::vector<Batch> split(const Batch& batch, int num_microbatches, int world_size);

}  // namespace paceline::train
